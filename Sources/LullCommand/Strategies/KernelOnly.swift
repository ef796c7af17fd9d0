// SPDX-License-Identifier: Apache-2.0
import Lull

/// What the better event loops do: before each piece the kernel is asked whether anything is ready,
/// and a piece runs only when nothing is.
///
/// Input is then met at once, and so is a frame that is already due. But it knows of no frame to
/// come, and a piece that is begun just before one makes it late.
struct KernelOnly: Strategy {
  let name = "kernel-only"
  let summary = "asks the kernel before each piece, knows no frames to come"

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let observer = Loop.main.observe([.beforeWaiting], in: .common, order: 0) { _, _ in
      var leavesMore = stage.hasPieces
      while leavesMore, !stage.isAnythingReady { leavesMore = stage.runNextPiece() }
      if leavesMore { Loop.main.wakeUp() }
    }
    Loop.main.wakeUp()
    return { observer.invalidate() }
  }
}
