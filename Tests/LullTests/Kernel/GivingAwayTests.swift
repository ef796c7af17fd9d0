// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lull
import Testing

/// Callouts that take an item out of their loop and add it to that of another thread.
@Suite struct `Items given to another loop` {
  /// More modes than the first loop knows, so that what is numbered there means nothing here.
  private func give(_ item: Loop.Item, from loop: Loop, to runner: LoopRunner) {
    loop.remove(item, from: .default)
    for number in 0..<20 {
      let mode = Loop.Mode("test.given.\(number)")
      switch item {
      case let timer as Loop.Timer: runner.loop.add(timer, to: mode)
      case let observer as Loop.Observer: runner.loop.add(observer, to: mode)
      case let source as Loop.DescriptorSource:
        #expect(throws: Never.self) { try runner.loop.add(source, to: mode) }
      default: Issue.record("\(item) may be in several loops")
      }
    }
    runner.onLoop {}
  }

  @Test func `by an earlier callout are not called any more`() {
    let runner = LoopRunner()
    onLoopThread { loop in
      let calls = Cell<[String]>([])
      let pipe = Pipe()
      pipe.write(1)
      let date = loop.now.advanced(by: .milliseconds(2))
      let (timer, observer, source) = (
        Loop.Timer(at: date.advanced(by: .nanoseconds(1))) { _ in
          calls.update { $0.append("timer") }
        },
        Loop.Observer(.beforeTimers, order: 1) { _, _ in calls.update { $0.append("observer") } },
        Loop.DescriptorSource(pipe.reader, for: .readable) { _, _ in
          calls.update { $0.append("source") }
        }
      )
      loop.observe(.beforeTimers, repeats: false) { _, _ in
        calls.update { $0.append("first observer") }
        give(observer, from: loop, to: runner)
      }
      loop.schedule(at: date) { _ in
        calls.update { $0.append("first timer") }
        give(timer, from: loop, to: runner)
      }
      #expect(throws: Never.self) {
        try loop.watch(pipe.reader, for: .readable) { first, _ in
          calls.update { $0.append("first source") }
          give(source, from: loop, to: runner)
          first.invalidate()
        }
        try loop.add(source)
      }
      loop.add(timer)
      loop.add(observer)
      #expect(loop.run(in: .default, for: .seconds(60)) == .finished)
      // The pipe may be served in a pass before the timer is due.
      #expect(calls.value.sorted() == ["first observer", "first source", "first timer"])
      for item in [timer, observer, source] { item.invalidate() }
      runner.onLoop {}
    }
    runner.stop()
  }

  /// It waits for its turn on the one loop while it fires on the other.
  @Test func `while they are due fire where they are now`() {
    let runner = LoopRunner()
    for _ in 0..<20 * stress {
      let fired = DispatchSemaphore(value: 0)
      onLoopThread { loop in
        let date = loop.now.advanced(by: .milliseconds(2))
        let given = Cell<Loop.Timer?>(nil)
        // Made first, it is due first, even if the date has passed meanwhile.
        let first = Loop.Timer(at: date) { _ in
          loop.remove(given.value!, from: .default)
          runner.loop.add(given.value!)
        }
        let second = Loop.Timer(at: date, every: .milliseconds(1)) { timer in
          #expect(runner.loop.isCurrent)
          timer.invalidate()
          fired.signal()
        }
        given.value = second
        loop.add(first)
        loop.add(second)
        #expect(loop.run(in: .default, for: .seconds(60)) == .finished)
      }
      #expect(fired.wait(timeout: .now() + .seconds(60)) == .success)
    }
    runner.stop()
  }

  /// Its new loop has it before its handler returns, and must not lose it for that.
  @Test func `by their own handler go on there`() {
    let runner = LoopRunner()
    let fired = DispatchSemaphore(value: 0)
    let timer = Loop.Timer(every: .milliseconds(1)) { timer in
      let loop = Loop.current
      guard loop !== runner.loop else {
        fired.signal()
        return
      }
      give(timer, from: loop, to: runner)
      runner.loop.add(timer)
      runner.onLoop {}
      #expect(loop.nextFire(in: .default) == nil)
    }
    onLoopThread { loop in
      loop.add(timer)
      #expect(loop.run(in: .default, for: .seconds(60)) == .finished)
    }
    for _ in 0..<3 { #expect(fired.wait(timeout: .now() + .seconds(60)) == .success) }
    timer.invalidate()
    runner.stop()
  }
}
