// SPDX-License-Identifier: Apache-2.0
import Lull

/// The rule of React's scheduler (packages/scheduler/src/forks/Scheduler.js): a task of the event
/// loop, posted by a MessageChannel, runs pieces until 5 ms have gone by since it began, asking
/// after each of them; if any are left it posts itself again. It is not aligned to frames.
///
/// A signalled source is such a task here: one a pass, with frames and input served in between. The
/// pieces are of React's idle priority, which never expires. At normal priority those that had
/// waited for five seconds would run one after the other, without a look at the time.
struct Slices: Strategy {
  let name = "slices-5ms"
  let summary = "React: slices of 5 ms, then the loop's turn"
  static let slice: Nanoseconds = 5_000_000

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let source = Loop.main.makeSource { source in
      let begun = monotonicNow()
      var leavesMore = stage.hasPieces
      while leavesMore, monotonicNow() - begun < Self.slice { leavesMore = stage.runNextPiece() }
      if leavesMore { source.signal() }
    }
    Loop.main.add(source, to: .common)
    source.signal()
    return { source.invalidate() }
  }
}
