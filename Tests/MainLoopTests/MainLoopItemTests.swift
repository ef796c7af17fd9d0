// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull
import XCTest

/// Items with handlers of the main actor: what they are made with reaches them.
///
/// The class is of no actor: the runner cannot call a test that is.
final class MainLoopItemTests: XCTestCase {
  func testATimerIsMadeAsItWasAskedFor() {
    onMain { bench in
      let date = Loop.main.now.advanced(by: .seconds(60))
      let timer = Loop.main.makeTimer(
        at: date, every: .seconds(2), tolerance: .milliseconds(500), base: .continuous
      ) { timer in bench.mark("\(timer.interval)") }
      XCTAssertEqual(timer.nextFire, date)
      XCTAssertEqual(timer.interval, .seconds(2))
      XCTAssertEqual(timer.tolerance, .milliseconds(500))
      XCTAssertEqual(timer.base, .continuous)
      timer.fire()
      XCTAssertEqual(bench.marks, ["\(Duration.seconds(2))"])
      let plain = Loop.main.makeTimer(at: date) { _ in }
      XCTAssertEqual(plain.interval, .zero)
      XCTAssertEqual(plain.tolerance, .zero)
      XCTAssertEqual(plain.base, .suspending)
    }
  }

  func testATimerScheduledAfterADelayFiresOnce() {
    onMain { bench in
      let before = Loop.main.now
      let timer = Loop.main.schedule(
        after: .milliseconds(2), in: bench.mode, tolerance: .microseconds(1)
      ) { _ in bench.mark("timer") }
      XCTAssertGreaterThanOrEqual(timer.nextFire, before.advanced(by: .milliseconds(2)))
      XCTAssertEqual(timer.tolerance, .microseconds(1))
      XCTAssertEqual(timer.base, .suspending)
      XCTAssertEqual(bench.run(bench.mode), .finished)
      XCTAssertGreaterThanOrEqual(Loop.main.now, before.advanced(by: .milliseconds(2)))
      XCTAssertEqual(bench.marks, ["timer"])
    }
  }

  func testATimerScheduledAtAnIntervalFiresUntilItIsInvalidated() {
    onMain { bench in
      let before = Loop.main.now
      let timer = Loop.main.schedule(
        every: .milliseconds(2), in: bench.mode, tolerance: .milliseconds(1)
      ) { timer in
        bench.mark("timer")
        if bench.marks.count == 3 { timer.invalidate() }
      }
      XCTAssertEqual(timer.interval, .milliseconds(2))
      XCTAssertEqual(timer.tolerance, .milliseconds(1))
      XCTAssertEqual(bench.run(bench.mode), .finished)
      XCTAssertGreaterThanOrEqual(Loop.main.now, before.advanced(by: .milliseconds(6)))
      XCTAssertEqual(bench.marks.count, 3)
      let tight = Loop.main.schedule(every: .zero, in: bench.mode) { _ in }
      XCTAssertEqual(tight.interval, .microseconds(100))
      tight.invalidate()
    }
  }

  func testTimersOfEveryMakerMayCountSuspend() {
    onMain { bench in
      @MainActor func fires(_ timer: Loop.Timer) {
        XCTAssertEqual(timer.base, .continuous)
        XCTAssertEqual(bench.run(bench.mode), .stopped)
        timer.invalidate()
      }
      let handler: @MainActor (Loop.Timer) -> Void = { _ in
        bench.mark("timer")
        Loop.main.stop()
      }
      fires(
        Loop.main.schedule(
          after: .milliseconds(1), in: bench.mode, base: .continuous, handler))
      fires(
        Loop.main.schedule(
          every: .milliseconds(1), in: bench.mode, base: .continuous, handler))
      fires(
        Loop.main.schedule(
          at: Loop.Instant(nanoseconds: 1), in: bench.mode, base: .continuous, handler))
      XCTAssertEqual(bench.marks.count, 3)
    }
  }

  func testATimerScheduledAtADateKeepsItsGrid() {
    onMain { bench in
      let first = Loop.main.now.advanced(by: .milliseconds(1))
      let timer = Loop.main.schedule(
        at: first, every: .seconds(60), in: bench.mode, tolerance: .seconds(1)
      ) { timer in
        bench.mark("timer")
        Loop.main.stop()
      }
      XCTAssertEqual(timer.nextFire, first)
      XCTAssertEqual(timer.tolerance, .seconds(1))
      XCTAssertEqual(bench.run(bench.mode), .stopped)
      XCTAssertEqual(timer.nextFire, first.advanced(by: .seconds(60)))
      timer.invalidate()
      XCTAssertEqual(bench.marks, ["timer"])
    }
  }

  func testASourceHearsOfItsModesAndIsPerformedByOrder() {
    onMain { bench in
      func make(_ name: String, order: Int) -> Loop.Source {
        Loop.main.makeSource(
          order: order,
          schedule: { _, loop, mode in bench.mark("\(name) joins \(mode == bench.mode)") },
          cancel: { _, loop, mode in bench.mark("\(name) leaves \(loop === Loop.main.loop)") }
        ) { source in bench.mark("\(name) \(source.order)") }
      }
      let sources = [make("late", order: 1), make("early", order: -1)]
      for source in sources {
        Loop.main.add(source, to: bench.mode)
        source.signal()
      }
      bench.poll(bench.mode)
      for source in sources { source.invalidate() }
      XCTAssertEqual(
        bench.marks,
        [
          "late joins true", "early joins true", "early -1", "late 1", "late leaves true",
          "early leaves true",
        ])
    }
  }

  func testADescriptorIsWatchedUntilItsInterestIsWithdrawn() throws {
    try onMain { bench in
      let pipe = ReadyPipe()
      let source = try Loop.main.watch(pipe.reader, for: .readable, in: bench.mode) {
        source, ready in
        bench.mark("\(source.descriptor == pipe.reader) \(ready)")
        source.interest = []
      }
      XCTAssertEqual(source.interest, .readable)
      XCTAssertEqual(bench.run(bench.mode, once: true), .handledSource)
      bench.poll(bench.mode)
      XCTAssertEqual(bench.marks, ["true [readable]"])
      source.invalidate()
    }
  }

  func testObserversAreCalledByOrderForTheirActivitiesAndOnceIfTheyDoNotRepeat() {
    onMain { bench in
      let last = Loop.main.observe([.entry, .exit], in: bench.mode, order: 1) { _, activity in
        bench.mark("last \(activity)")
      }
      let once = Loop.main.observe(.entry, in: bench.mode, repeats: false) { _, activity in
        bench.mark("once \(activity)")
      }
      let made = Loop.main.makeObserver(.exit, order: 2, repeats: false) { observer, activity in
        bench.mark("made \(activity) \(observer.order)")
      }
      Loop.main.add(made, to: bench.mode)
      for _ in 0..<2 {
        Loop.main.perform(in: bench.mode) {}
        bench.poll(bench.mode)
      }
      XCTAssertFalse(once.isValid)
      XCTAssertFalse(made.isValid)
      last.invalidate()
      XCTAssertEqual(
        bench.marks,
        ["once entry", "last entry", "last exit", "made exit 2", "last entry", "last exit"])
    }
  }

  func testAMailboxHasItsLimitAndItsOrder() throws {
    try onMain { bench in
      let last = Loop.main.makeMailbox(of: Int.self, limit: 2, order: 5) { mailbox, values in
        bench.mark("last \(values) \(mailbox.limit)")
      }
      let first = Loop.main.makeMailbox { (_, values: [String]) in bench.mark("first \(values)") }
      Loop.main.add(last, to: bench.mode)
      Loop.main.add(first, to: bench.mode)
      for value in 1...2 { try last.send(value) }
      XCTAssertThrowsError(try last.send(3)) { error in
        XCTAssertEqual(error as? Loop.MailboxError, .full)
      }
      try first.send("a")
      bench.poll(bench.mode)
      XCTAssertEqual(bench.marks, ["first [\"a\"]", "last [1, 2] 2"])
      XCTAssertEqual(first.limit, .max)
      for mailbox in [first, last] as [Loop.Source] { mailbox.invalidate() }
    }
  }

  func testASignalThatCannotBeTakenIsAnError() throws {
    try onMain { _ in
      XCTAssertThrowsError(try Loop.main.makeSignalSource(SIGKILL) { _, _ in }) { error in
        XCTAssertEqual(error as? Loop.SignalError, .cannotBeCaught(SIGKILL))
      }
    }
  }

  func testTheEndOfAChildIsTold() throws {
    var child: pid_t = 0
    let command = ["/bin/sh", "-c", "exit 7"]
    var words: [UnsafeMutablePointer<CChar>?] = unsafe command.map { unsafe strdup($0) }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    XCTAssertEqual(unsafe posix_spawn(&child, "/bin/sh", nil, nil, words, environ), 0)
    let process = child
    try onMain { bench in
      let source = try Loop.main.makeProcessSource(process) { source, end in
        bench.mark("\(source.process == process) \(end)")
      }
      try Loop.main.add(source, to: bench.mode)
      XCTAssertEqual(bench.run(bench.mode, once: true), .handledSource)
      XCTAssertEqual(bench.marks, ["true exited with 7"])
      XCTAssertThrowsError(try Loop.main.makeProcessSource(getpid()) { _, _ in }) { error in
        XCTAssertEqual(error as? Loop.ProcessError, .notAChild(getpid()))
      }
    }
  }
}
