// SPDX-License-Identifier: Apache-2.0
import XCTest

@testable import LullCommand

/// Real runs on the real main thread, which only XCTest gives. What they take is not judged.
///
/// The class is of no actor: the runner cannot call a test that is.
final class StageTests: XCTestCase {
  private func workload(in folder: TemporaryFolder) throws -> Workload {
    for index in 0..<12 {
      try folder.write(
        String(repeating: "some words of a file \(index)\n", count: 20), to: "f\(index)")
    }
    let walk = try Walk(folder.path)
    var builder = WorkloadBuilder(path: folder.path, trial: FileTrial())
    return builder.build(from: walk.files, leftOut: walk.leftOut)
  }

  private func perform(
    _ strategy: any Strategy, _ workload: Workload, _ options: DemoOptions
  ) throws -> Stage.Run {
    try MainActor.assumeIsolated {
      try Stage(strategy, workload: workload, options: options, seed: 1).run()
    }
  }

  func testEveryStrategyDoesAllTheWorkOnceAndLeavesTheLoopAsItWas() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    XCTAssertEqual(workload.pieces.count, 12)
    var options = DemoOptions()
    options.seconds = 0.8
    options.frameCost = 1
    for strategy in strategies {
      let run = try perform(strategy, workload, options)
      let timeline = run.timeline
      XCTAssertEqual(timeline.pieces.count, strategy.works ? 12 : 0, strategy.name)
      XCTAssertEqual(run.tally, strategy.works ? workload.tally : Tally(), strategy.name)
      XCTAssertEqual(run.failures, 0, strategy.name)
      XCTAssertEqual(timeline.workDone, timeline.pieces.last?.end, strategy.name)
      XCTAssertFalse(timeline.frames.isEmpty, strategy.name)
      XCTAssertFalse(timeline.input.isEmpty, strategy.name)
      XCTAssert(timeline.isInOrder, strategy.name)
    }
  }

  func testAPieceWhoseFileIsGoneIsCountedAndTheOthersAreRead() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    try folder.takeAway("f3")
    var options = DemoOptions()
    options.seconds = 0.7
    let run = try perform(Lulls(), workload, options)
    XCTAssertEqual(run.failures, 1)
    XCTAssertEqual(run.tally.lines, workload.tally.lines - 20)
    XCTAssertNotNil(run.timeline.workDone)
  }

  func testWorkThatIsCutOffIsNotDone() throws {
    let folder = try TemporaryFolder()
    let workload = try workload(in: folder)
    var options = DemoOptions()
    // Over before the work is handed over.
    options.seconds = 0.2
    for strategy in strategies {
      let run = try perform(strategy, workload, options)
      XCTAssertNil(run.timeline.workDone)
      XCTAssert(run.timeline.pieces.isEmpty)
    }
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
