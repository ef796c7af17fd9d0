// SPDX-License-Identifier: Apache-2.0
import Lull
import XCTest

@testable import LullCommand

/// Real runs on the real main thread, which only XCTest gives. What they take is not judged.
///
/// The class is of no actor: the runner cannot call a test that is.
final class StageTests: XCTestCase {
  private static let strategies = Cast(comparing: true).strategies

  private func workload(in folder: TemporaryFolder) throws -> Workload {
    for index in 0..<12 {
      try folder.write(
        String(repeating: "some words of a file \(index)\n", count: 20), to: "f\(index)")
    }
    let walk = try Walk(folder.path)
    var builder = WorkloadBuilder(path: folder.path, trial: FileTrial())
    return builder.build(from: walk.files, leftOut: walk.leftOut)
  }

  /// A run that is over when it has done what it should; its time limit only ever fails a test.
  private func perform(
    _ strategy: any Strategy, _ workload: Workload, calm: Nanoseconds = 33_333_334,
    frameCost: Double = 1, hz: Double = 60, seconds: Double = 60
  ) throws -> Stage.Run {
    var options = DemoOptions()
    options.hz = hz
    options.seconds = seconds
    options.frameCost = frameCost
    let plan = Stage.Plan(calm: calm, leastFrames: 3, leastInput: 2, afterwards: 0)
    return try MainActor.assumeIsolated {
      try Stage(strategy, workload: workload, options: options, seed: 1, plan: plan).run()
    }
  }

  func testEveryStrategyDoesAllTheWorkOnceAndLeavesTheLoopAsItWas() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    XCTAssertEqual(workload.pieces.count, 12)
    for strategy in Self.strategies {
      let run = try perform(strategy, workload)
      let timeline = run.timeline
      XCTAssertEqual(timeline.pieces.count, strategy.works ? 12 : 0, strategy.name)
      XCTAssertEqual(run.tally, strategy.works ? workload.tally : Tally(), strategy.name)
      XCTAssertEqual(run.failures, 0, strategy.name)
      XCTAssertEqual(timeline.workDone, timeline.pieces.last?.end, strategy.name)
      XCTAssertFalse(timeline.frames.isEmpty, strategy.name)
      XCTAssertGreaterThanOrEqual(timeline.input.count, 2, strategy.name)
      XCTAssert(timeline.isInOrder, strategy.name)
    }
  }

  func testMadeUpPiecesAreAllDoneAndTakeTheirTime() throws {
    let cost: Nanoseconds = 300_000
    let workload = Workload.synthetic(pieces: 25, cost: cost)
    for strategy in Self.strategies where strategy.works {
      let run = try perform(strategy, workload, hz: 125)
      XCTAssertEqual(run.timeline.pieces.count, 25, strategy.name)
      XCTAssertNotNil(run.timeline.workDone, strategy.name)
      XCTAssert(run.timeline.pieces.allSatisfy { $0.length >= cost }, strategy.name)
      XCTAssertEqual(run.tally, Tally(), strategy.name)
      XCTAssert(run.timeline.isInOrder, strategy.name)
    }
  }

  func testABatchIsAsManyPiecesAsItSays() throws {
    let run = try perform(
      BatchPerPass(batchSize: 4), .synthetic(pieces: 10, cost: 10_000), frameCost: 0.1)
    XCTAssertEqual(run.timeline.pieces.count, 10)
    XCTAssertNotNil(run.timeline.workDone)
  }

  func testFramesComeAtTheRateThatWasAskedFor() throws {
    let run = try perform(NoWork(), .synthetic(pieces: 1, cost: 1), frameCost: 0.1, hz: 250)
    XCTAssertEqual(run.timeline.period, 4_000_000)
    // A timer is never early.
    XCTAssertGreaterThanOrEqual(
      run.timeline.end - run.timeline.firstDue,
      Nanoseconds(run.timeline.frames.count - 1) * 4_000_000)
  }

  func testAPieceWhoseFileIsGoneIsCountedAndTheOthersAreRead() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    try folder.takeAway("f3")
    let run = try perform(Lulls(), workload, frameCost: 4)
    XCTAssertEqual(run.failures, 1)
    XCTAssertEqual(run.tally.lines, workload.tally.lines - 20)
    XCTAssertNotNil(run.timeline.workDone)
  }

  /// The run is over before the work is handed over, however slow the machine.
  func testWorkThatIsNeverHandedOverIsNotDone() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    for strategy in Self.strategies {
      let run = try perform(strategy, workload, calm: 3_600_000_000_000, seconds: 0.05)
      XCTAssertNil(run.timeline.workGiven, strategy.name)
      XCTAssertNil(run.timeline.workDone, strategy.name)
      XCTAssert(run.timeline.pieces.isEmpty, strategy.name)
    }
  }

  func testWorkThatIsCutOffIsNotDoneAndItsStrategyIsEnded() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    let run = try perform(CutOff(), workload)
    XCTAssertNotNil(run.timeline.workGiven)
    XCTAssertNil(run.timeline.workDone)
    XCTAssertEqual(run.timeline.pieces.count, 3)
    XCTAssertEqual(run.tally.lines, 60)
    XCTAssertEqual(MainActor.assumeIsolated { CutOff.ends }, 1)
  }
}

/// Three pieces, and the run is over.
private struct CutOff: Strategy {
  let name = "cut-off"
  let summary = ""
  @MainActor static var ends = 0

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    for _ in 0..<3 { _ = stage.runNextPiece() }
    Loop.main.stop()
    return { Self.ends += 1 }
  }
}

extension Timeline {
  /// Whether nothing on the main thread overlaps.
  fileprivate var isInOrder: Bool {
    let all = (frames + pieces + input.map(\.handling)).sorted { $0.start < $1.start }
    return zip(all, all.dropFirst()).allSatisfy { $0.end <= $1.start }
      && input.allSatisfy { $0.latency >= 0 }
  }
}
