// SPDX-License-Identifier: Apache-2.0

/// The seam between the loop and its idle work: a pass that would sleep gives a share until
/// something is ready, and learns when to come back.
extension Loop {
  /// Step 7 of a pass: runs idle pieces while nothing is ready and time is left. Returns when to
  /// wake for the next one; `Int64.max` for never.
  @inline(__always)
  func giveIdleShare(_ pass: Pass, into ready: inout [ReadyEvent]) -> Int64 {
    if hasIdleWork { return giveShare(pass, into: &ready) }
    if idleState.value.backlog.count > 0 { idleState.value.tally.waited(.nested) }
    return .max
  }

  /// Whether there is idle work that a run could do.
  @inline(__always)
  var hasIdleWork: Bool {
    idleState.value.backlog.count > 0 && !idleState.value.running.isThere
  }

  private func giveShare(_ pass: Pass, into ready: inout [ReadyEvent]) -> Int64 {
    let run = pass.run
    guard state.value.modes[run.mode].isCommon else {
      idleState.value.tally.waited(.mode)
      return .max
    }
    let isTracking = state.value.modes[run.mode].mode == .eventTracking
    var now = poller.now
    idle.shareBegins(at: now)
    idleState.value.shareIsOver = false
    var ranAny = false
    while idle.hasWork {
      let isBusy = mustNotSleep(pass)
      if isStopped(run) { break }
      if !isBusy { look(run, into: &ready) }
      let nextTimer = min(earliestDeadline(in: run.mode), run.limit, state.value.turnEnds)
      // Where there is nothing to run into, the end of the last piece will do.
      if nextTimer != .max || idleState.value.frameClock != nil { now = poller.now }
      if isBusy || !ready.isEmpty || nextTimer <= now {
        idleState.value.tally.waited(.input)
        if !ranAny { idle.runOverdue(at: now, isTracking: isTracking) }
        break
      }
      let moment = Admission.Moment(
        now: now, nextFrame: idle.nextFrame(at: now), nextTimer: nextTimer,
        isTracking: isTracking)
      switch idle.runPiece(at: moment) {
      case .ran(let end):
        (ranAny, now) = (true, end)
        if idleState.value.shareIsOver { return now }
      case .ended: break
      case .wait(let until): return until
      }
    }
    return .max
  }

  /// A pass that handled a source gives no share, but work may not wait for ever.
  func giveOverdueIdleShare(_ run: Activation) {
    guard hasIdleWork, !run.isPoll, state.value.modes[run.mode].isCommon else { return }
    let isTracking = state.value.modes[run.mode].mode == .eventTracking
    idle.runOverdue(at: poller.now, isTracking: isTracking)
  }
}

extension IdleQueue {
  /// Whether there is work that a run could do. Not inside a piece: nested runs give no share.
  @inline(__always)
  var hasWork: Bool { loop.hasIdleWork }

  // MARK: What the loop did

  func shareBegins(at now: Int64) {
    loop.idleState.value.admission.shareBegins(at: now)
    // Frames that a host tells of are not timers of ours.
    if let told = loop.idleState.value.frameClock?.lastTold,
      told != loop.idleState.value.frameSeen
    {
      loop.idleState.value.frameSeen = told
      loop.idleState.value.admission.served(due: told, began: told)
    }
  }

  /// A timer that was due at `due` is being served.
  func serves(_ timer: Loop.Timer, due: Int64, at now: Int64) {
    loop.idleState.value.admission.event(at: now)
    // Where frames are known, other timers begin no gap.
    let clock = loop.idleState.value.frameClock
    guard clock == nil || clock!.follows(timer) else { return }
    loop.idleState.value.admission.served(due: due, began: now)
  }

  /// A run with a limit is over: what its caller does then is as good as a frame.
  func reached(_ limit: Int64, at now: Int64) {
    guard loop.idleState.value.frameClock == nil else { return }
    loop.idleState.value.admission.served(due: limit, began: now)
  }

  /// Something else was served.
  func eventServed(at now: Int64) { loop.idleState.value.admission.event(at: now) }

  func nextFrame(at now: Int64) -> Int64? {
    loop.idleState.value.frameClock?.nextFrame(after: Loop.Instant(nanoseconds: now))?.nanoseconds
  }
}
