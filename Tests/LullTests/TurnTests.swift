// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

/// What a host sees of its guest. That a guest's passes are those of a run is tested elsewhere: all
/// tests of runs are also run with a host that carries them.
@Suite struct `Turns` {
  /// The activities of one run whose waits are the host's.
  @Test func `are one run that sleeps between them`() {
    withVirtualLoop { loop, time in
      let log = Log()
      observeAll(loop, log)
      loop.schedule(after: .milliseconds(5)) { _ in log.add("timer") }
      #expect(loop.turn() == .waiting)
      #expect(log.take() == ["entry", "beforeTimers", "beforeSources", "beforeWaiting"])
      #expect(loop.currentMode == .default && loop.isWaiting)
      #expect(loop.nextDeadline == time.now.advanced(by: .milliseconds(5)))
      time.advance(by: .milliseconds(5))
      // The timer was the last: the mode is empty.
      #expect(loop.turn() == .finished)
      #expect(log.take() == ["afterWaiting", "timer", "exit"])
      #expect(loop.currentMode == nil && loop.nextDeadline == nil)
    }
  }

  @Test func `of another mode leave the run of the last and enter another`() {
    withVirtualLoop { loop, _ in
      let log = Log()
      observeAll(loop, log, in: [.default, .eventTracking])
      for mode in [Loop.Mode.default, .eventTracking] { loop.add(Loop.Source { _ in }, to: mode) }
      loop.turn()
      _ = log.take()
      loop.turn(in: .eventTracking)
      #expect(
        log.take() == [
          "afterWaiting", "exit", "entry", "beforeTimers", "beforeSources", "beforeWaiting",
        ])
      #expect(loop.currentMode == .eventTracking)
      loop.endTurns()
      #expect(log.take() == ["afterWaiting", "exit"])
      #expect(loop.currentMode == nil && !loop.isWaiting)
      loop.endTurns()
      #expect(log.take() == [])
    }
  }

  @Test func `of an empty mode are finished, and the next serves what came since`() {
    withVirtualLoop { loop, _ in
      #expect(loop.turn() == .finished)
      #expect(loop.nextDeadline == nil)
      let log = Log()
      loop.perform { log.add("block") }
      #expect(loop.nextDeadline == loop.now)
      #expect(loop.turn() == .finished)
      #expect(log.take() == ["block"])
    }
  }

  @Test func `tell that the loop was stopped, and then go on`() {
    withVirtualLoop { loop, _ in
      loop.add(Loop.Source { _ in })
      #expect(loop.turn() == .waiting)
      loop.stop()
      #expect(loop.turn() == .stopped)
      #expect(loop.currentMode == nil)
      #expect(loop.turn() == .waiting)
      loop.stop()
      loop.endTurns()
      // Not told to anybody, so it stays.
      #expect(loop.turn() == .stopped)
    }
  }

  @Test func `are told of a stop also when there is nothing in the mode`() {
    withVirtualLoop { loop, _ in
      #expect(loop.turn() == .finished)
      loop.stop()
      #expect(loop.nextDeadline == loop.now)
      #expect(loop.turn() == .stopped)
      #expect(loop.nextDeadline == nil)
      #expect(loop.turn() == .finished)
    }
  }

  @Test func `end with the pass in which the budget is used up`() {
    withVirtualLoop { loop, time in
      let count = Counter()
      let source = Loop.Source { source in
        count.add()
        time.advance(by: .milliseconds(3))
        source.signal()
      }
      loop.add(source)
      source.signal()
      #expect(loop.turn(budget: .milliseconds(7)) == .moreToDo)
      #expect(count.value == 3)
      #expect(loop.turn(budget: .zero) == .moreToDo)
      #expect(count.value == 4)
      #expect(loop.nextDeadline == loop.now)
      source.invalidate()
      #expect(loop.turn() == .finished)
    }
  }

  /// A millisecond each, and known by then to take one: seven of them fit into eight.
  @Test func `give idle work what is left of the budget`() {
    withVirtualLoop { loop, time in
      let pieces = Counter()
      loop.add(Loop.Source { _ in })
      loop.idle.forEach(0..<1_000) { _, _ in
        pieces.add()
        time.advance(by: .milliseconds(1))
        return .continue
      }
      var turns = 0
      while pieces.value < 100 {
        let began = time.now
        loop.turn(budget: .milliseconds(8))
        #expect(began.duration(to: time.now) <= .milliseconds(8))
        turns += 1
        if let next = loop.nextDeadline, next > time.now {
          time.advance(by: time.now.duration(to: next))
        }
      }
      #expect(turns <= 20, "\(turns) turns for 100 pieces")
    }
  }

  @Test func `in a callout of a turn are runs of their own`() {
    withVirtualLoop { loop, time in
      let log = Log()
      observeAll(loop, log)
      loop.schedule(after: .milliseconds(1)) { _ in
        log.add("outer")
        // The host's inner loop.
        #expect(loop.turn() == .waiting)
        #expect(loop.currentMode == .default)
        #expect(loop.nextDeadline != nil)
        time.advance(by: .milliseconds(2))
        loop.turn()
        log.add("outer ends")
      }
      loop.schedule(after: .milliseconds(2)) { _ in log.add("inner") }
      loop.add(Loop.Source { _ in })
      loop.turn()
      time.advance(by: .milliseconds(1))
      _ = log.take()
      loop.turn()
      let passed = ["beforeTimers", "beforeSources", "beforeWaiting"]
      let nested = ["entry"] + passed + ["afterWaiting"]
      #expect(
        log.take() == ["afterWaiting", "outer"] + nested + ["exit"] + nested + ["inner"] + passed
          + ["afterWaiting", "exit", "outer ends"] + passed)
    }
  }

  @Test func `leave room for a run between them`() {
    withVirtualLoop { loop, time in
      let log = Log()
      loop.schedule(after: .milliseconds(5)) { _ in log.add("timer") }
      loop.add(Loop.Source { _ in })
      loop.turn()
      #expect(loop.run(in: .default, for: .milliseconds(6)) == .timedOut)
      #expect(log.take() == ["timer"])
      #expect(loop.currentMode == .default)
      #expect(loop.turn() == .waiting)
      #expect(loop.nextDeadline == nil)
    }
  }

  /// Nothing foreseen may be later than what the loop then wants.
  @Test func `are foreseen for timers of both clocks, in the mode of the last turn`() {
    withVirtualLoop { loop, time in
      loop.schedule(after: .milliseconds(30), base: .continuous) { _ in }
      loop.schedule(after: .milliseconds(10), in: Loop.Mode("other")) { _ in }
      loop.schedule(after: .milliseconds(40)) { _ in }
      loop.turn()
      #expect(loop.nextDeadline == time.now.advanced(by: .milliseconds(30)))
      time.suspend(for: .milliseconds(20))
      #expect(loop.nextDeadline == time.now.advanced(by: .milliseconds(10)))
      loop.turn(in: Loop.Mode("other"))
      #expect(loop.nextDeadline == time.now.advanced(by: .milliseconds(10)))
    }
  }

  private func observeAll(_ loop: Loop, _ log: Log, in modes: [Loop.Mode] = [.default]) {
    for mode in modes {
      loop.observe(.all, in: mode) { _, activity in log.add(name(of: activity)) }
    }
  }
}

private func name(of activity: Loop.Activities) -> String {
  switch activity {
  case .entry: "entry"
  case .beforeTimers: "beforeTimers"
  case .beforeSources: "beforeSources"
  case .beforeWaiting: "beforeWaiting"
  case .afterWaiting: "afterWaiting"
  default: "exit"
  }
}

private final class Log: @unchecked Sendable {  // one thread at a time
  private var lines: [String] = []
  func add(_ line: String) { lines.append(line) }
  func take() -> [String] {
    defer { lines = [] }
    return lines
  }
}
