// SPDX-License-Identifier: Apache-2.0

/// A way to get work done on a thread that has frames to show.
protocol Strategy: Sendable {
  /// As in the table and the JSON.
  var name: String { get }
  var summary: String { get }
  /// False for the one that shows what the machine does by itself.
  var works: Bool { get }
  /// The loop it is played on.
  @MainActor var loop: any StageLoop { get }

  /// The work is there: called once, on the main loop, at the moment it is handed over.
  ///
  /// - Returns: what ends it, called when all is done and when time is up.
  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void
}

extension Strategy {
  var works: Bool { true }
  @MainActor var loop: any StageLoop { LullStageLoop() }
}

/// No work: the same frames and the same input, to see what the machine itself does to them.
struct NoWork: Strategy {
  let name = "none"
  let summary = "no work at all: what the machine itself does to frames"
  let works = false

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void { {} }
}
