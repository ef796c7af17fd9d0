// SPDX-License-Identifier: Apache-2.0

import Lull
import XCTest

/// The main loop's idle work, member by member.
///
/// The class is of no actor: the runner cannot call a test that is.
final class MainIdleQueueTests: XCTestCase {
  private struct Trouble: Error {}

  func testTraversalsGoByPriorityAndTellTheirEnd() {
    onMain { bench in
      let idle = Loop.main.idle
      let end: @MainActor (IdleWork.End) -> Void = { bench.mark("\($0)") }
      idle.forEach(["a"], options: .init(priority: .low), onEnd: end) { index, element in
        bench.mark("\(element)\(index)")
        return .continue
      }
      let work = idle.forEach(["b", "c", "d"], options: .init(priority: .high), onEnd: end) {
        index, element in
        bench.mark("\(element)\(index)")
        return index == 1 ? .stop : .continue
      }
      XCTAssertEqual(work.priority, .high)
      XCTAssertEqual(work.progress.done, 0)
      XCTAssertEqual(work.progress.total, 3)
      XCTAssertEqual(idle.count, 2)
      XCTAssertEqual(idle.queue.count, 2)
      bench.runAll()
      XCTAssertEqual(bench.marks, ["b0", "c1", "stopped", "a0", "finished"])
      XCTAssertEqual(work.progress.done, 2)
      XCTAssertEqual(idle.count, 0)
    }
  }

  func testTraversalsOfAKeyRunInTheirOrderAndAreCancelledByIt() {
    onMain { bench in
      let idle = Loop.main.idle
      for name in ["a", "b"] {
        idle.forEach(
          1...2, key: "key", options: .init(priority: name == "a" ? .low : .high),
          onEnd: { bench.mark("\(name) \($0)") }
        ) { index, element in
          bench.mark("\(name)\(element)")
          return .continue
        }
      }
      bench.runAll()
      XCTAssertEqual(bench.marks, ["a1", "a2", "a finished", "b1", "b2", "b finished"])

      bench.marks = []
      for key in ["gone", "stays"] {
        idle.forEach(1...1, key: key, onEnd: { bench.mark("\(key) \($0)") }) { _, _ in .continue }
      }
      idle.cancel(key: "gone")
      bench.runAll()
      XCTAssertEqual(bench.marks, ["gone cancelled", "stays finished"])
    }
  }

  func testObjectsAreHandedToTheirKeyAndAStopDropsTheRest() {
    onMain { bench in
      let idle = Loop.main.idle
      for number in 1...3 {
        idle.enqueue(
          "object \(number)", key: "key", options: .init(priority: .high), weight: number,
          onEnd: { bench.mark("\(number) \($0)") }
        ) { key, object in
          bench.mark("\(key): \(object)")
          return number == 2 ? .stop : .continue
        }
      }
      let failing = idle.enqueue(4, key: "failing", options: .init(priority: .low)) { _, _ in
        throw Trouble()
      }
      bench.runAll()
      XCTAssertEqual(
        bench.marks,
        ["key: object 1", "1 finished", "key: object 2", "2 stopped", "3 dropped"])
      guard case .failed(let error)? = failing.end else { return XCTFail("\(failing)") }
      XCTAssert(error is Trouble)
    }
  }

  func testElementsAreWeighed() {
    onMain { bench in
      let idle = Loop.main.idle
      let weight: @MainActor (String) -> Int = {
        bench.mark("weighs \($0)")
        return $0.count
      }
      idle.forEach(["aaa"], weight: weight) { _, element in
        bench.mark(element)
        return .continue
      }
      bench.runAll()
      XCTAssertEqual(Set(bench.marks), ["weighs aaa", "aaa"])
      bench.marks = []
      idle.forEach(["bb"], key: "key", weight: weight) { _, element in
        bench.mark(element)
        return .continue
      }
      bench.runAll()
      XCTAssertEqual(Set(bench.marks), ["weighs bb", "bb"])
    }
  }

  func testWorkThatMayNotWaitRunsThoughEventsKeepComing() {
    onMain { bench in
      let idle = Loop.main.idle
      let body: @MainActor (String) -> IdleAnswer = {
        bench.mark($0)
        return .continue
      }
      let patient: Duration = .seconds(100_000)
      let waiting = [
        idle.forEach(1...1, options: .init(maximumWait: patient)) { _, _ in body("no") },
        idle.forEach(1...1, key: 1, options: .init(maximumWait: patient)) { _, _ in body("no") },
        idle.enqueue(1, key: 2, options: .init(maximumWait: patient)) { _, _ in body("no") },
      ]
      idle.forEach(1...1, options: .init(maximumWait: .zero)) { _, _ in body("yes") }
      idle.forEach(1...1, key: 3, options: .init(maximumWait: .zero)) { _, _ in body("yes") }
      idle.enqueue(1, key: 4, options: .init(maximumWait: .zero)) { _, _ in body("yes") }
      let source = Loop.main.makeSource { source in
        if bench.marks.count < 3 { source.signal() } else { Loop.main.stop() }
      }
      Loop.main.add(source)
      source.signal()
      XCTAssertEqual(bench.run(), .stopped)
      source.invalidate()
      XCTAssertEqual(bench.marks, ["yes", "yes", "yes"])
      for work in waiting { work.cancel() }
      XCTAssertEqual(idle.count, 0)
    }
  }

  func testWhatIsBeyondTheLimitIsDropped() {
    onMain { bench in
      let idle = Loop.main.idle
      XCTAssertEqual(idle.limit, .max)
      idle.limit = 1
      XCTAssertEqual(idle.queue.limit, 1)
      XCTAssertEqual(idle.limit, 1)
      let works = (0..<2).map { number in
        idle.enqueue(number, key: number, onEnd: { bench.mark("\(number) \($0)") }) { _, _ in
          .continue
        }
      }
      XCTAssertEqual(bench.marks, ["1 dropped"])
      idle.limit = .max
      bench.runAll()
      XCTAssertEqual(bench.marks, ["1 dropped", "0 finished"])
      XCTAssertNotNil(works[1].end)
    }
  }

  func testTheFrameClockIsTheQueuesOwn() {
    onMain { bench in
      let clock = FrameClock(period: .seconds(1))
      XCTAssertNil(Loop.main.idle.frameClock)
      Loop.main.idle.frameClock = clock
      XCTAssert(Loop.main.loop.idle.frameClock === clock)
      XCTAssert(Loop.main.idle.frameClock === clock)
      Loop.main.idle.frameClock = nil
      XCTAssertNil(Loop.main.loop.idle.frameClock)
    }
  }
}

extension Bench {
  /// Runs until all idle work has ended.
  fileprivate func runAll() {
    waitForLast()
    XCTAssertEqual(run(), .stopped)
    XCTAssertEqual(Loop.main.idle.count, 0)
  }

  private func waitForLast() {
    let idle = Loop.main.idle
    idle.enqueue(
      "the last", key: "the last", options: .init(priority: .low, maximumWait: .seconds(100_000))
    ) {
      [self] _, _ in
      if idle.count == 1 { Loop.main.stop() } else { waitForLast() }
      return .continue
    }
  }

  func testFunctionsOfTheMainActorGoOnInLulls() {
    onMain { bench in
      let idle = Loop.main.idle
      idle.resetReport()
      Task { @MainActor in
        for _ in 0..<3 {
          await idle.lull()
          // What comes after a lull is part of its piece, which is counted when it has ended.
          bench.mark("\(idle.report.pieces)")
        }
        for await letter in idle.paced(["a", "b"]) { bench.mark("\(letter)\(idle.report.pieces)") }
        idle.offload(key: "sum", onEnd: { _ in Loop.main.stop() }) {
          1 + 1
        } then: { sum in
          bench.mark("sum \(sum)")
        }
      }
      XCTAssertEqual(Loop.main.run(in: .default, for: .seconds(60)), .stopped)
      XCTAssertEqual(bench.marks, ["0", "1", "2", "a3", "b4", "sum 2"])
    }
  }

  func testWorkOfTheMainActorSaysItselfWhetherThereIsMore() {
    onMain { bench in
      let idle = Loop.main.idle
      idle.perform(key: "resumable", options: .init(priority: .high)) {
        bench.mark("piece")
        return bench.marks.count < 3 ? .more : .done
      }
      bench.runAll()
      XCTAssertEqual(bench.marks, ["piece", "piece", "piece"])
      idle.overflow = .dropNewest
      XCTAssertEqual(idle.queue.overflow, .dropNewest)
      idle.overflow = .reject
    }
  }
}
