// SPDX-License-Identifier: Apache-2.0

/// The whole work in one callout: nothing else runs until it is over.
struct AllAtOnce: Strategy {
  let name = "all-at-once"
  let summary = "all of it in one go: one freeze"

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    while stage.hasTime, stage.runNextPiece() {}
    return {}
  }
}
