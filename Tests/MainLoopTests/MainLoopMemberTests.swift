// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull
import XCTest

/// What the main loop's view of its loop hands on, member by member.
///
/// The class is of no actor: the runner cannot call a test that is.
final class MainLoopMemberTests: XCTestCase {
  // MARK: Running

  func testARunWithoutALimitRunsTheDefaultModeUntilItIsStopped() {
    onMain { bench in
      Loop.main.perform {
        bench.mark("\(Loop.main.currentMode == .default) \(Loop.main.isWaiting)")
        Loop.main.stop()
      }
      XCTAssertEqual(Loop.main.run(), .stopped)
      XCTAssertEqual(bench.marks, ["true false"])
    }
  }

  func testARunUntilAMomentLastsUntilThen() {
    onMain { bench in
      let timer = Loop.main.schedule(after: .seconds(60), in: bench.mode) { _ in }
      let limit = Loop.main.now.advanced(by: .milliseconds(3))
      XCTAssertEqual(Loop.main.run(in: bench.mode, until: limit), .timedOut)
      XCTAssertGreaterThanOrEqual(Loop.main.now, limit)
      timer.invalidate()
      XCTAssertEqual(Loop.main.run(in: bench.mode), .finished)
    }
  }

  func testARunUntilAMomentReturnsAfterASourceIfItIsToldTo() {
    onMain { bench in
      let source = Loop.main.makeSource { _ in bench.mark("source") }
      Loop.main.add(source, to: bench.mode)
      let limit = Loop.main.now.advanced(by: .seconds(30))
      source.signal()
      XCTAssertEqual(
        Loop.main.run(in: bench.mode, until: limit, returnAfterSourceHandled: true),
        .handledSource)
      Loop.main.perform(in: bench.mode) { source.invalidate() }
      source.signal()
      XCTAssertEqual(Loop.main.run(in: bench.mode, until: limit), .finished)
      XCTAssertEqual(bench.marks, ["source"])
    }
  }

  func testAStopFromAnotherThreadEndsARunThatSleeps() throws {
    let thread = try LoopThread()
    onMain { bench in
      thread.loop.perform {
        while !Loop.main.isWaiting { sched_yield() }
        Loop.main.stop()
      }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertFalse(Loop.main.isWaiting)
    }
    thread.stop()
    thread.join()
  }

  /// Without the wake-up the loop would sleep for as long as it may.
  func testAWakeUpBeginsAnotherPass() {
    onMain { bench in
      let observer = Loop.main.observe(.beforeWaiting) { _, _ in
        bench.mark("pass")
        if bench.marks.count < 3 { Loop.main.wakeUp() } else { Loop.main.stop() }
      }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["pass", "pass", "pass"])
      observer.invalidate()
    }
  }

  func testTheCurrentModeIsTheInnermostRuns() {
    onMain { bench in
      XCTAssertNil(Loop.main.currentMode)
      Loop.main.perform {
        bench.mark("\(Loop.main.currentMode == .default)")
        Loop.main.perform(in: bench.mode) {
          bench.mark("\(Loop.main.currentMode == bench.mode)")
        }
        bench.poll(bench.mode)
        bench.mark("\(Loop.main.currentMode == .default)")
        Loop.main.stop()
      }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["true", "true", "true"])
      XCTAssertNil(Loop.main.currentMode)
    }
  }

  func testNowIsTheLoopsOwn() {
    onMain { _ in
      let before = Loop.main.loop.now
      let now = Loop.main.now
      XCTAssert(before <= now && now <= Loop.main.loop.now)
    }
  }

  // MARK: Contents

  func testAModeIsThereWhenSomethingWasAddedToIt() {
    onMain { bench in
      XCTAssert(Loop.main.modes.isSuperset(of: [.default, .modalPanel, .eventTracking]))
      XCTAssertFalse(Loop.main.modes.contains(bench.mode))
      Loop.main.perform(in: bench.mode) {}
      XCTAssert(Loop.main.modes.contains(bench.mode))
      bench.poll(bench.mode)
    }
  }

  func testAModeThatBecomesCommonGetsTheCommonItems() {
    onMain { bench in
      let timer = Loop.main.schedule(after: .seconds(60), in: .common) { _ in }
      XCTAssertFalse(Loop.main.contains(timer, in: bench.mode))
      Loop.main.addCommonMode(bench.mode)
      XCTAssert(Loop.main.contains(timer, in: bench.mode))
      timer.invalidate()
      // It is never empty from now on, as the main queue may always bring something.
      XCTAssertEqual(Loop.main.run(in: bench.mode, for: .milliseconds(1)), .timedOut)
    }
  }

  func testItemsOfAllKindsAreAddedAskedForAndRemoved() throws {
    try onMain { bench in
      let pipe = ReadyPipe()
      let timer = Loop.main.makeTimer(at: Loop.main.now) { _ in bench.mark("timer") }
      let source = Loop.main.makeSource { _ in bench.mark("source") }
      let observer = Loop.main.makeObserver(.entry) { _, _ in bench.mark("observer") }
      let descriptor = Loop.main.makeDescriptorSource(pipe.reader, for: .readable) { _, ready in
        bench.mark("descriptor \(ready)")
      }
      let items = [timer, source, observer, descriptor]
      for mode in [bench.mode, .default] {
        if mode == .default {
          Loop.main.add(timer)
          Loop.main.add(source)
          Loop.main.add(observer)
          try Loop.main.add(descriptor)
        } else {
          Loop.main.add(timer, to: mode)
          Loop.main.add(source, to: mode)
          Loop.main.add(observer, to: mode)
          try Loop.main.add(descriptor, to: mode)
        }
        XCTAssert(items.allSatisfy { Loop.main.contains($0, in: mode) })
        XCTAssert(items.allSatisfy { Loop.main.loop.contains($0, in: mode) })
      }
      for item in items { Loop.main.remove(item, from: .default) }
      XCTAssert(items.allSatisfy { !Loop.main.contains($0, in: .default) && $0.isValid })
      source.signal()
      bench.poll(bench.mode)
      XCTAssertEqual(bench.marks, ["observer", "source", "timer", "descriptor [readable]"])
      for item in items { Loop.main.remove(item, from: bench.mode) }
      XCTAssertEqual(Loop.main.run(in: bench.mode), .finished)
    }
  }

  func testADescriptorThatCannotBeWatchedIsAnError() {
    onMain { bench in
      let file = unsafe open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
      defer { close(file) }
      let source = Loop.main.makeDescriptorSource(file, for: .readable) { _, _ in }
      func error(_ body: () throws(Loop.DescriptorError) -> Void) -> Loop.DescriptorError? {
        do {
          try body()
          return nil
        } catch { return error }
      }
      XCTAssertEqual(
        error { () throws(Loop.DescriptorError) in try Loop.main.add(source, to: bench.mode) },
        .notPollable(file))
      XCTAssertEqual(
        error { () throws(Loop.DescriptorError) in
          try Loop.main.watch(file, for: .readable, in: bench.mode) { _, _ in }
        }, .notPollable(file))
      XCTAssertEqual(Loop.main.run(in: bench.mode), .finished)
    }
  }

  func testTheNextDateIsThatOfTheFirstTimer() {
    onMain { bench in
      XCTAssertNil(Loop.main.nextFire(in: bench.mode))
      let dates = [70, 50, 60].map { Loop.main.now.advanced(by: .seconds($0)) }
      let timers = dates.map { Loop.main.schedule(at: $0, in: bench.mode) { _ in } }
      XCTAssertEqual(Loop.main.nextFire(in: bench.mode), dates[1])
      timers[1].invalidate()
      XCTAssertEqual(Loop.main.nextFire(in: bench.mode), dates[2])
      for timer in timers { timer.invalidate() }
    }
  }

  func testATraceSinkIsToldUntilItIsTakenAway() {
    onMain { bench in
      let sink = Sink()
      XCTAssertNil(Loop.main.trace)
      Loop.main.trace = sink
      XCTAssert(Loop.main.trace === sink)
      Loop.main.perform(in: bench.mode) {}
      bench.poll(bench.mode)
      Loop.main.trace = nil
      XCTAssertEqual(
        sink.events, ["run begins", "pass begins", "block", "pass ends", "run ends: timedOut"])
      Loop.main.perform(in: bench.mode) {}
      bench.poll(bench.mode)
      XCTAssertEqual(sink.events.count, 5)
    }
  }

  // MARK: Blocks

  func testABlockOfSeveralModesRunsOnceInTheFirstOfThem() {
    onMain { bench in
      Loop.main.perform(in: [.eventTracking, bench.mode]) { bench.mark("several") }
      Loop.main.perform(in: .common) { bench.mark("common") }
      bench.poll(bench.mode)
      XCTAssertEqual(bench.marks, ["several"])
      bench.poll(.eventTracking)
      XCTAssertEqual(bench.marks, ["several", "common"])
    }
  }
}

private final class Sink: Loop.TraceSink, @unchecked Sendable {  // called on the main thread
  var events: [String] = []

  func record(_ event: Loop.TraceEvent, at time: Loop.Instant) {
    switch event {
    case .runBegins: events.append("run begins")
    case .runEnds(_, let result): events.append("run ends: \(result)")
    case .passBegins: events.append("pass begins")
    case .passEnds: events.append("pass ends")
    case .calloutBegins(.block): events.append("block")
    default: break
    }
  }
}
