// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a loop does while its blocks and sources ask for each other and nothing else is at hand.
extension Loop {
  /// So many passes may go without a question to the kernel.
  private static let mostHops = 61
  /// By how much the coarse clock may be behind: a tick of a kernel with HZ=100.
  private static let longestTick: Int64 = 10_000_000

  /// How far a pass has got: its first blocks have run, its sources have been performed, all is
  /// done that comes before a wait.
  enum Reached { case blocks, sources, look }

  /// Runs passes in which nothing could happen but blocks and signalled sources, without the other
  /// steps: one that asks for the next costs no system call. Descriptors wait meanwhile for at most
  /// 61 passes, and one tick of the coarse clock; timers do not, nor do stops and posts from other
  /// threads. Where frames or idle work are to be looked after, each pass is a whole one. A pass of
  /// which somebody wants more is carried through. The run is over if there is a result.
  @inline(__always)
  func hop(_ run: Activation) -> RunResult? {
    state.value.blocks.isEmpty && state.value.signals.isEmpty ? nil : hopOn(run)
  }

  private func hopOn(_ run: Activation) -> RunResult? {
    guard !run.isPoll, !run.returnsAfterSource, !isVirtual, state.value.host == nil,
      idleState.value.frameClock == nil
    else { return nil }
    let tick = coarseNow
    let moment = tick.addingClamped(Loop.longestTick)
    guard isQuiet(run, before: moment) else { return nil }
    // Asked again after each call into user code, and only then.
    for _ in 0..<Loop.mostHops {
      guard hasHop(run) else { return nil }
      var pass = Pass(run: run, seen: wakes.load(ordering: .sequentiallyConsistent))
      runBlocks(in: run.mode)  // 3
      guard isQuiet(run, before: moment) else { return self.pass(pass, from: .blocks) }
      pass.performed = performSignalledSources(run)  // 4
      if pass.performed {
        guard isQuiet(run, before: moment) else { return self.pass(pass, from: .sources) }
        runBlocks(in: run.mode)
        guard isQuiet(run, before: moment) else { return self.pass(pass, from: .look) }
      }
      guard hasHop(run), coarseNow == tick else { return self.pass(pass, from: .look) }
      runBlocks(in: run.mode)  // 11
      if let result = verdict(run, handled: pass.performed) { return result }  // 12
      guard isQuiet(run, before: moment) else { return nil }
    }
    return nil
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
    state.value.modes[run.mode].observers.activities.isEmpty && state.value.trace == nil
      && !hasIdleWork
      && (timerQueueCount(of: run.mode) == 0 || earliestDeadline(in: run.mode) > moment)
  }
}
