// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `The end of a loop's thread` {
  @Test func `cancels its sources there, mode by mode, and frees its blocks unrun`() {
    let alive = Counter()
    let log = Cell<[String]>([])
    let dying = Cell<pthread_t?>(nil)
    RealThread {
      let loop = Loop.current
      dying.value = pthread_self()
      let held = Tracked(alive)
      let source = Loop.Source(
        cancel: { _, loop, mode in
          let isThere = dying.value.map { pthread_equal($0, pthread_self()) != 0 } ?? false
          log.update { $0.append("\(mode) \(isThere) \(loop.isCurrent) \(Loop.current === loop)") }
        }
      ) { _ in }
      loop.add(source)
      loop.add(source, to: Loop.Mode("test.other"))
      loop.perform { log.update { $0.append("a block ran \(held)") } }
      loop.schedule(every: .seconds(60)) { _ in _ = held }
    }.join()
    #expect(
      log.value == [
        "kCFRunLoopDefaultMode true true true", "test.other true true true",
      ])
    #expect(alive.value == 0)
  }

  /// What a cancel handler or a last release asks of the dying loop is refused, not kept for ever.
  @Test func `takes nothing more from the handlers it calls`() {
    let alive = Counter()
    RealThread {
      let loop = Loop.current
      let held = Tracked(alive)
      let source = Loop.Source(
        cancel: { source, loop, _ in
          loop.add(Loop.Source(cancel: { _, _, _ in Issue.record("cancelled") }) { _ in _ = held })
          loop.perform { _ = held }
          loop.schedule(after: .zero) { _ in _ = held }
          loop.idle.enqueue(1, key: "late") { _, _ in
            _ = held
            return .continue
          }
          source.invalidate()
        }
      ) { _ in _ = held }
      loop.add(source)
      let last = AsksAtTheEnd(loop)
      loop.perform { _ = last }
    }.join()
    #expect(alive.value == 0)
  }

  /// Its last release is the loop's own.
  private final class AsksAtTheEnd: Sendable {
    let loop: Loop
    init(_ loop: Loop) { self.loop = loop }
    deinit {
      loop.perform {}
      loop.add(Loop.Source { _ in })
      #expect(loop.run() == .finished)
    }
  }

  @Test func `leaves a handle that may be used from anywhere`() {
    let found = Cell<Loop?>(nil)
    let timer = Loop.Timer(every: .seconds(1)) { _ in }
    onLoopThread { loop in
      found.value = loop
      loop.add(timer)
    }
    let loop = found.value!
    let alive = Counter()
    let pipe = Pipe()
    do {
      let held = Tracked(alive)
      loop.perform { _ = held }
      loop.stop()
      loop.wakeUp()
      loop.addCommonMode(Loop.Mode("test.other"))
      let source = Loop.Source { _ in _ = held }
      loop.add(source)
      source.signal()
      loop.remove(source, from: .default)
      loop.observe(.all) { _, _ in _ = held }
      loop.schedule(after: .zero) { _ in _ = held }
      expectWatched(loop, pipe.reader) { _, _ in _ = held }
    }
    #expect(alive.value == 0)
    // What it had is free for others.
    #expect(timer.isValid)
    onLoopThread { other in
      other.add(timer)
      #expect(other.contains(timer, in: .default))
      timer.invalidate()
    }
  }

  @Test func `may come while others add, signal and invalidate what it has`() {
    for round in 0..<200 * stress {
      let found = Cell<Loop?>(nil)
      let isKnown = DispatchSemaphore(value: 0)
      let timer = Loop.Timer(every: .seconds(1)) { _ in }
      let source = Loop.Source { _ in }
      let thread = RealThread {
        var dice = Dice(seed: round)
        let loop = Loop.current
        loop.add(timer)
        loop.add(source)
        found.value = loop
        for _ in 0..<3 { isKnown.signal() }
        dice.dawdle(500)
        _ = loop.run(in: .default, for: .zero)
      }
      let other = Loop.Mode("test.other")
      onThreads(3) { number in
        isKnown.wait()
        var dice = Dice(seed: round * 3 + number)
        let loop = found.value!
        dice.dawdle(500)
        for _ in 0..<20 {
          loop.add(timer, to: other)
          loop.add(source, to: other)
          source.signal()
          timer.nextFire = .now
          loop.perform {}
          loop.stop()
          loop.wakeUp()
        }
        timer.invalidate()
        source.invalidate()
      }
      thread.join()
    }
  }

  /// Two threads that hand the same item to a loop that has ended both come back.
  @Test func `refuses an item to two threads at once`() {
    let found = Cell<Loop?>(nil)
    onLoopThread { loop in found.value = loop }
    let loop = found.value!
    for _ in 0..<1_000 * stress {
      let timer = Loop.Timer(after: .seconds(1)) { _ in }
      onThreads(2) { _ in for _ in 0..<20 { loop.add(timer) } }
    }
  }

  @Test func `of 2000 threads leaves no descriptor and no memory`() async {
    await #expect(processExitsWith: .success) {
      func makeAndEnd(_ count: Int) {
        for _ in 0..<count / 8 {
          onThreads(8) { _ in
            let loop = Loop.current
            loop.schedule(every: .seconds(60)) { _ in }
            _ = loop.run(in: .default, for: .zero)
          }
        }
      }
      makeAndEnd(400)
      let descriptors = test_open_descriptors()
      let memory = test_resident_kilobytes()
      makeAndEnd(2_000)
      // The test library's own come and go.
      precondition(test_open_descriptors() < descriptors + 5, "descriptors were lost")
      // A loop is several kilobytes; what the allocator keeps for its threads is its own.
      let growth = test_resident_kilobytes() - memory
      precondition(isSanitized || growth < 4_000, "2000 threads left \(growth) kB")
    }
  }

  @Test func `costs no descriptors by modes or runs`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { loop in
        let pipe = Pipe()
        for number in 0..<1_000 {
          let mode = Loop.Mode("test.\(number)")
          loop.schedule(after: .seconds(60), in: mode) { _ in }
          expectWatched(loop, pipe.reader, in: mode) { _, _ in }
          _ = loop.run(in: mode, for: .zero)
        }
        let descriptors = test_open_descriptors()
        for number in 0..<100_000 {
          if number % 100 == 0 { loop.addCommonMode(Loop.Mode("test.\(number / 100)")) }
          _ = loop.run(in: .default, for: .zero)
        }
        precondition(test_open_descriptors() < descriptors + 5)
        // The pipe, the epoll and the eventfd, whatever the test library has open.
        precondition(descriptors < 64)
      }
    }
  }
}
