// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a loop does while its blocks and sources ask for each other and nothing else is at hand.
extension Loop {
  /// So many passes may go without a question to the kernel.
  private static let mostHops = 61
  /// By how much the coarse clock may be behind: a tick of a kernel with HZ=100.
  private static let longestTick: Int64 = 10_000_000

  /// Runs passes in which nothing could happen but blocks and signalled sources, without the other
  /// steps: one that asks for the next costs no system call. Descriptors wait meanwhile for at most
  /// 61 passes, and one tick of the coarse clock; timers do not, nor do stops and posts from other
  /// threads. Where frames or idle work are to be looked after, each pass is a whole one.
  @inline(__always)
  func hop(_ run: Activation) {
    if !state.value.blocks.isEmpty || !state.value.signals.isEmpty { hopOn(run) }
  }

  private func hopOn(_ run: Activation) {
    guard !run.isPoll, !run.returnsAfterSource, !isVirtual, state.value.host == nil,
      idleState.value.frameClock == nil
    else { return }
    let tick = poller.coarseNow
    let moment = tick.addingClamped(Loop.longestTick)
    var passes = 0
    repeat {
      guard isQuiet(run, before: moment), hasHop(run) else { return }
      runBlocks(in: run.mode)
      guard isQuiet(run, before: moment) else { return }
      if performSignalledSources(run) {
        guard isQuiet(run, before: moment) else { return }
        runBlocks(in: run.mode)
      }
      guard isQuiet(run, before: moment), hasHop(run) else { return }
      runBlocks(in: run.mode)
      passes += 1
    } while passes < Loop.mostHops && poller.coarseNow == tick
  }

  /// Whether there is something to hop to, as far as can be told at a glance.
  @inline(__always)
  private func hasHop(_ run: Activation) -> Bool {
    state.value.blocks.begins(with: state.value.modes[run.mode].mode)
      || state.value.signals.hasSignal(in: run.mode, of: state.value.modes)
  }

  /// Whether nobody but blocks and sources could want anything of a pass before `moment`.
  @inline(__always)
  private func isQuiet(_ run: Activation, before moment: Int64) -> Bool {
    state.value.modes[run.mode].observed.isEmpty && state.value.trace == nil && !hasIdleWork
      && run.limit > moment && !isStopped(run)
      && (timerQueueCount(of: run.mode) == 0 || earliestDeadline(in: run.mode) > moment)
  }
}
