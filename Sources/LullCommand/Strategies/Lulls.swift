// SPDX-License-Identifier: Apache-2.0
import Lull

/// Ours: a piece runs when nothing is ready and when, by what its like have cost, it fits before the
/// next frame. The bytes of a piece are its weight, so that short pieces fill what long ones leave.
struct Lulls: Strategy {
  let name = "lulls"
  let summary = "Lull: a piece runs when it fits before the next frame"

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let item = Loop.main.idle.forEach(stage.pieces, key: "text", weight: { $0.bytes }) { _, _ in
      stage.runNextPiece() ? .continue : .stop
    }
    return { item.cancel() }
  }
}
