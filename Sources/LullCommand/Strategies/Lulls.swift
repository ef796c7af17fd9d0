// SPDX-License-Identifier: Apache-2.0
import Lull

/// Ours: a piece runs when nothing is ready and when, by what its like have cost, it fits before
/// the next frame.
///
/// The bytes of a piece are its weight, and made-up pieces are all alike. Long and short ones are
/// handed over by themselves, since their order does not matter here: where the next long one does
/// not fit any more, a short one often does.
struct Lulls: Strategy {
  let name = "lulls"
  let summary = "Lull: a piece runs when it fits before the next frame"

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let short = stage.longestPiece / 3
    let items = [
      ("long", stage.pieces.filter { $0.bytes > short }),
      ("short", stage.pieces.filter { $0.bytes <= short }),
    ].map { key, pieces in
      Loop.main.idle.forEach(pieces, key: key, weight: { $0.weight }) { _, piece in
        stage.run(piece)
        return .continue
      }
    }
    return { for item in items { item.cancel() } }
  }
}
