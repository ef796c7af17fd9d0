// SPDX-License-Identifier: Apache-2.0
import Lull

/// The rule of requestIdleCallback (W3C, "Cooperative Scheduling of Background Tasks", with the
/// deadline of HTML's event loop): a loop with nothing to do begins an idle period, which ends at
/// the next timer or frame, and after 50 ms at the latest. In it callbacks run one after the other
/// while time remains, which is none as soon as something more urgent waits.
///
/// Time remains until the frame is due: nobody asks what the next piece takes, so that one is begun
/// just before the end and runs over it.
struct IdleDeadline: Strategy {
  let name = "idle-50ms"
  let summary = "requestIdleCallback: until the next frame or 50 ms, knows no cost"
  static let longest: Nanoseconds = 50_000_000

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let observer = Loop.main.observe([.beforeWaiting], in: .common, order: 0) { _, _ in
      // The frame timer is the only one there is.
      let deadline = min(stage.nextFrame(), monotonicNow() + Self.longest)
      var leavesMore = stage.hasPieces
      while leavesMore, monotonicNow() < deadline, !stage.isAnythingReady {
        leavesMore = stage.runNextPiece()
      }
      if leavesMore { Loop.main.wakeUp() }
    }
    Loop.main.wakeUp()
    return { observer.invalidate() }
  }
}
