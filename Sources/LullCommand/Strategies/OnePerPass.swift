// SPDX-License-Identifier: Apache-2.0
import Lull

/// The classic technique: an observer runs a piece when the loop is about to wait, and at its exit.
///
/// This is its best form. The loop is woken after each piece; as it is usually written nothing does
/// that, the next piece waits for the next frame or event, and most of the work would be left when
/// the run is over. Its flaw remains: about to wait is not idle, and the piece runs although a
/// frame may be due in a moment.
struct OnePerPass: Strategy {
  let name = "one-per-pass"
  let summary = "the classic: an observer runs a piece before each wait"

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let observer = Loop.main.observe([.beforeWaiting, .exit], in: .common, order: 0) { _, _ in
      if stage.runNextPiece() { Loop.main.wakeUp() }
    }
    // The observer may be asked for between two waits only: without this it is first asked at the
    // next frame.
    Loop.main.wakeUp()
    return { observer.invalidate() }
  }
}
