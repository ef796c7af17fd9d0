// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import Testing

/// Stops that come before, at, between and after runs: four public projects lost one
/// (selection-hook
/// #23, OpenLogi #263, libirecovery #84, dotnet/corefx #8628).
@Suite struct `A stop from another thread` {
  @Test func `at any moment around a run ends it`() {
    for round in 0..<1_000 * stress {
      let found = Cell<Loop?>(nil)
      let isKnown = DispatchSemaphore(value: 0)
      let thread = RealThread {
        var dice = Dice(seed: round)
        let loop = Loop.current
        loop.add(Loop.Source { _ in })
        found.value = loop
        isKnown.signal()
        dice.dawdle(300)
        #expect(loop.run() == .stopped)
      }
      var dice = Dice(seed: -round)
      isKnown.wait()
      dice.dawdle(300)
      found.value!.stop()
      thread.join()
    }
    report("\(1_000 * stress) threads joined, each after a stop around its run")
  }

  @Test func `before a run ends the next, and only that`() {
    onLoopThread { loop in
      loop.add(Loop.Source { _ in })
      RealThread { loop.stop() }.join()
      #expect(loop.run() == .stopped)
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
    }
  }

  @Test func `that a run did not report stays`() {
    onLoopThread { loop in
      let source = Loop.Source { _ in loop.stop() }
      loop.add(source)
      source.signal()
      let first = loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true)
      #expect(first == .handledSource)
      #expect(loop.run() == .stopped)
    }
  }

  @Test func `between many short runs ends exactly one`() {
    let rounds = 2_000 * stress
    let found = Cell<Loop?>(nil)
    let isKnown = DispatchSemaphore(value: 0)
    let stopped = DispatchSemaphore(value: 0)
    let stops = Counter()
    let isDone = Cell(false)
    let thread = RealThread {
      let loop = Loop.current
      loop.add(Loop.Source { _ in })
      found.value = loop
      isKnown.signal()
      while !isDone.value {
        if loop.run(in: .default, for: .microseconds(20)) == .stopped {
          stops.add()
          stopped.signal()
        }
      }
    }
    isKnown.wait()
    for round in 0..<rounds {
      var dice = Dice(seed: round)
      dice.dawdle(100)
      found.value!.stop()
      guard stopped.wait(timeout: .now() + .seconds(20)) == .success else {
        Issue.record("stop \(round) was lost")
        break
      }
    }
    isDone.value = true
    thread.join()
    #expect(stops.value == rounds)
  }

  /// The nested run it was meant for may end before it can see it; then the outer one stops.
  @Test func `as nested runs come and go ends one or the other`() {
    let nested = Loop.Mode("test.nested")
    for round in 0..<1_000 * stress {
      let inside = DispatchSemaphore(value: 0)
      let found = Cell<Loop?>(nil)
      let thread = RealThread {
        let loop = Loop.current
        found.value = loop
        loop.add(Loop.Source { _ in }, to: nested)
        let source = Loop.Source { source in
          inside.signal()
          for _ in 0..<50 { if loop.run(in: nested, for: .zero) == .stopped { loop.stop() } }
          inside.signal()
          source.invalidate()
        }
        loop.add(Loop.Source { _ in })
        loop.add(source)
        source.signal()
        #expect(loop.run() == .stopped)
      }
      inside.wait()
      var dice = Dice(seed: round)
      dice.dawdle(1_000)
      let loop = found.value!
      loop.stop()
      // One that the last poll of the nested mode did not report waits for the next nested run.
      inside.wait()
      loop.perform { if loop.run(in: nested, for: .zero) == .stopped { loop.stop() } }
      thread.join()
    }
  }

  @Test func `comes twice to end a nested run and the one around it`() {
    let nested = Loop.Mode("test.nested")
    let runner = LoopRunner { loop in loop.add(Loop.Source { _ in }, to: nested) }
    let result = Cell<Loop.RunResult?>(nil)
    runner.loop.perform { result.value = runner.loop.run(in: nested) }
    while !(runner.loop.isWaiting && runner.loop.currentMode == nested) { sched_yield() }
    runner.loop.stop()
    while runner.loop.currentMode != .default { sched_yield() }
    runner.untilItWaits()
    #expect(result.value == .stopped)
    runner.stop()
  }

  @Test func `may come long after its thread has ended`() {
    let found = Cell<Loop?>(nil)
    onLoopThread { loop in found.value = loop }
    let loop = found.value!
    loop.stop()
    loop.wakeUp()
    #expect(loop.currentMode == nil)
  }
}
