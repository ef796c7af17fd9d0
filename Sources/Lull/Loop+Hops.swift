// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a loop does while its blocks queue blocks and it has nothing else to look after.
extension Loop {
  /// So many passes may go without a question to the kernel.
  private static let mostHops = 61
  /// By how much the coarse clock may be behind: a tick of a kernel with HZ=100.
  private static let longestTick: Int64 = 10_000_000

  /// Runs the blocks of passes in which nothing else could happen, without going through their
  /// steps: a block that queues the next costs no system call. Descriptors wait meanwhile for at
  /// most 61 passes, and one tick of the coarse clock; timers do not, nor do sources, stops and
  /// posts from other threads. Where frames or idle work are to be looked after, each pass is a
  /// whole one.
  @inline(__always)
  func hop(_ run: Activation) {
    if !state.value.blocks.isEmpty { hopOn(run) }
  }

  private func hopOn(_ run: Activation) {
    guard !run.isPoll, !isVirtual, state.value.host == nil, idleState.value.frameClock == nil else {
      return
    }
    let mode = state.value.modes[run.mode].mode
    let tick = poller.coarseNow
    let moment = tick.addingClamped(Loop.longestTick)
    var passes = 0
    repeat {
      guard hasOnlyBlocks(mode, run, before: moment) else { return }
      runBlocks(in: run.mode)
      guard hasOnlyBlocks(mode, run, before: moment) else { return }
      runBlocks(in: run.mode)
      passes += 1
    } while passes < Loop.mostHops && poller.coarseNow == tick
  }

  /// Whether a pass before `moment` would do nothing but run blocks.
  @inline(__always)
  private func hasOnlyBlocks(_ mode: Mode, _ run: Activation, before moment: Int64) -> Bool {
    state.value.blocks.begins(with: mode) && state.value.modes[run.mode].observed.isEmpty
      && state.value.trace == nil && state.value.signals.isEmpty && !hasIdleWork
      && run.limit > moment && !isStopped(run)
      && (timerQueueCount(of: run.mode) == 0 || earliestDeadline(in: run.mode) > moment)
  }
}
