// SPDX-License-Identifier: Apache-2.0

/// The seam between the loop and its idle work: a pass that would sleep gives a share until
/// something is ready, and learns when to come back.
extension IdleQueue {
  /// Whether there is work that a run could do. Not inside a piece: nested runs give no share.
  @inline(__always)
  var hasWork: Bool { loop.hasIdleWork }

  /// Runs one piece if one may run now.
  func runPiece(at now: Int64, nextTimer: Int64, isTracking: Bool) -> Outcome {
    let moment = Admission.Moment(now: now, nextFrame: nextFrame(at: now), nextTimer: nextTimer)
    loop.idleState.value.hasNews = false
    loop.idleState.value.admission.look(at: moment)
    if loop.idleState.value.admission.isSpent(at: moment) {
      loop.idleState.value.tally.waited(.budget)
      return .wait(until: now)
    }
    loop.idleState.value.backlog.age(at: now)
    var next = moment.nextFrame ?? .max
    if !loop.idleState.value.admission.hasHastened,
      let lane = loop.idleState.value.backlog.overdue(at: now, isTracking: isTracking),
      let outcome = tryFirst(of: lane, at: moment, isTracking, hastened: true, &next)
    {
      return outcome
    }
    var place = 0
    while place < loop.idleState.value.backlog.laneCount {
      let lane = loop.idleState.value.backlog.lane(place)
      if let outcome = tryFirst(of: lane, at: moment, isTracking, hastened: false, &next) {
        return outcome
      }
      place += 1
    }
    return .wait(until: next)
  }

  /// Runs a piece of a key's first item if it may run now; nil if not.
  @inline(__always)
  private func tryFirst(
    of lane: Lane.Reference, at moment: Admission.Moment, _ isTracking: Bool, hastened: Bool,
    _ next: inout Int64
  ) -> Outcome? {
    guard let work = lane.value.first else { return nil }
    if work.pausedUntil > moment.now {
      loop.idleState.value.tally.waited(.nothingToDo)
      next = min(next, work.pausedUntil)
      return nil
    }
    if isTracking, work.tracking != .run, !hastened, waitsForTracking(work, at: moment.now, &next) {
      return nil
    }
    guard let piece = nextPiece(of: work, in: lane, moment.nextFrame != nil) else {
      return .ended
    }
    if loop.idleState.value.admission.admits(piece, at: moment) {
      return .ran(
        until: run(
          work, in: lane, at: moment.now, piece, nextFrame: moment.nextFrame, isTracking,
          hastened: hastened))
    }
    let isFrame = moment.nextFrame ?? .max <= moment.end
    loop.idleState.value.tally.waited(isFrame ? .frame : .timer)
    next = min(
      next, loop.idleState.value.admission.nextQuestion(about: piece, after: moment.now))
    return nil
  }

  private func waitsForTracking(_ work: IdleWork, at now: Int64, _ next: inout Int64) -> Bool {
    let until = loop.idleState.value.throttledUntil
    guard work.tracking == .pause || now < until else { return false }
    loop.idleState.value.tally.waited(.tracking)
    if work.tracking == .throttle { next = min(next, until) }
    return true
  }

  enum Outcome {
    /// A piece ran; ask the kernel before the next.
    case ran(until: Int64)
    /// An item had nothing left and ended.
    case ended
    /// Nothing fits before this moment, unless a timer or an event comes first.
    case wait(until: Int64)
  }

  /// Runs one piece that has waited for as long as it may, though the loop is busy.
  func runOverdue(at now: Int64, isTracking: Bool) {
    guard let lane = loop.idleState.value.backlog.overdue(at: now, isTracking: isTracking),
      let work = lane.value.first, let piece = nextPiece(of: work, in: lane, false)
    else { return }
    run(
      work, in: lane, at: now, piece, nextFrame: nextFrame(at: now), isTracking, hastened: true)
  }

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

  private func nextFrame(at now: Int64) -> Int64? {
    loop.idleState.value.frameClock?.nextFrame(after: Loop.Instant(nanoseconds: now))?.nanoseconds
  }

  // MARK: Pieces

  /// What is known of the next piece of a key's first item; nil if that had none left and was
  /// ended.
  @inline(__always)
  private func nextPiece(
    of work: IdleWork, in lane: Lane.Reference, _ hasFrames: Bool
  ) -> Admission.Piece? {
    if work.stage == .new {
      // To begin is to run the caller's code: that waits for the piece, unless its weight decides.
      guard work.isWeighted, !lane.value.costs.isEmpty || work.declaredCost != nil else {
        return Admission.Piece(
          cost: cost(of: work, 1, in: lane, hasFrames), overdueAt: work.overdueAt)
      }
      begin(work)
      if endIfCancelled(work, afterPiece: false) { return nil }
    }
    guard let weight = work.nextWeight else {
      take(work, .finished)
      return nil
    }
    return Admission.Piece(
      cost: cost(of: work, weight, in: lane, hasFrames), overdueAt: work.overdueAt)
  }

  /// What was learned, or what the caller says where that is more.
  @inline(__always)
  private func cost(
    of work: IdleWork, _ weight: Int, in lane: Lane.Reference, _ hasFrames: Bool
  ) -> Int64? {
    guard let unit = work.declaredCost else {
      return hasFrames
        ? lane.value.costs.cautious(weight: weight) : lane.value.costs.expected(weight: weight)
    }
    let learned = lane.value.costs.expected(weight: weight)
    let (declared, overflow) = unit.multipliedReportingOverflow(by: Int64(max(1, weight)))
    return max(overflow ? .max : declared, learned ?? 0)
  }

  private func begin(_ work: IdleWork) {
    work.stage = .begun
    asRunning(work) { work.begin() }
  }

  /// The caller's code may come back to the queue, or run the loop: neither begins another piece.
  @inline(__always)
  private func asRunning<Result, Failure: Error>(
    _ work: IdleWork, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    loop.idleState.value.running = Unretained(work)
    defer { loop.idleState.value.running = Unretained(nil) }
    return try body()
  }

  /// Runs a piece of a key's first item; when it ended.
  @discardableResult
  private func run(
    _ work: IdleWork, in lane: Lane.Reference, at began: Int64, _ piece: Admission.Piece,
    nextFrame: Int64?, _ isTracking: Bool, hastened: Bool
  ) -> Int64 {
    lane.value.pieceBegins()
    if loop.idleState.value.backlog.hasLower(than: lane) {
      loop.idleState.value.tally.waited(.priority)
    }
    let isLong = piece.cost ?? .max >= Admission.longPiece
    let taken = isLong ? loop.poller.preemptions : 0
    loop.record(.pieceBegins(key: work.keyName))
    if work.stage == .new { begin(work) }
    let weight = work.isCancelled ? nil : work.nextWeight
    var result: Result<IdleAnswer, any Error>?
    if weight != nil {
      do { result = .success(try asRunning(work) { try work.step() }) } catch {
        result = .failure(error)
      }
    }
    let ended = loop.poller.now
    let time = max(0, ended - began)
    // What it took while others had the processor says nothing of the next.
    let wasPreempted = isLong && time > piece.cost ?? .max && loop.poller.preemptions > taken
    if let weight {
      if !wasPreempted { lane.value.costs.learn(time, weight: weight) }
      work.took(time)
      loop.idleState.value.tally.ran(for: time, after: began - work.waitsSince)
      if time > lane.value.longest {
        lane.value.longest = time
        loop.idleState.value.tally.tookLongest(work, time)
      }
      if let cost = piece.cost, time > cost { loop.idleState.value.tally.overruns += 1 }
    }
    if let nextFrame, ended > nextFrame.addingClamped(Admission.onTime) {
      noteDelay(of: nextFrame, until: ended, by: work)
    }
    if isTracking, work.tracking == .throttle {
      loop.idleState.value.throttledUntil = ended.addingClamped(9 * min(time, .max / 16))
    }
    loop.record(.pieceEnds(key: work.keyName))
    loop.idleState.value.admission.pieceRan(
      took: wasPreempted ? 0 : time, expected: piece.cost, hastened: hastened)
    work.waitsSince = max(ended, min(work.pausedUntil, .max / 2))
    loop.idleState.value.backlog.rotate(lane, after: time)
    let others = others(endedBy: result, of: work, in: lane)
    lane.value.pieceEnded()
    settle(work, result, others)
    return ended
  }

  /// Frames from `first` on came due while a piece ran.
  private func noteDelay(of first: Int64, until ended: Int64, by work: IdleWork) {
    let period = loop.idleState.value.frameClock?.periodNanoseconds ?? 0
    let more = period > 0 ? (ended - Admission.onTime - first) / period : 0
    loop.idleState.value.tally.delayed(1 + Int(more), by: work)
  }

  /// The work that a piece takes with it, by its answer or its error, that of the piece perhaps
  /// among it.
  @inline(__always)
  private func others(
    endedBy result: Result<IdleAnswer, any Error>?, of work: IdleWork, in lane: Lane.Reference
  ) -> [IdleWork] {
    switch result {
    case .failure?:
      switch work.errorReach {
      case .item: []
      case .key: lane.value.all
      case .queue: loop.idleState.value.backlog.all
      }
    // What came while the piece ran was not meant.
    case .success(.stop)?: work.stopsItsKey ? lane.value.knownToPiece : []
    case .success(.continue)?, nil: []
    }
  }

  private func settle(
    _ work: IdleWork, _ result: Result<IdleAnswer, any Error>?, _ others: [IdleWork]
  ) {
    switch result {
    case .failure(let error)?:
      loop.idleState.value.tally.failures += 1
      take(work, .failed(error), afterPiece: true)
      drop(others, except: work)
    case .success(.stop)?:
      take(work, .stopped, afterPiece: true)
      drop(others, except: work)
    case .success(.continue)?, nil:
      if !endIfCancelled(work, afterPiece: result != nil), work.nextWeight == nil {
        take(work, .finished, afterPiece: result != nil)
      }
    }
  }

  private func drop(_ rest: [IdleWork], except work: IdleWork) {
    for other in rest where other !== work {
      loop.idleState.value.tally.drops += 1
      take(other, .dropped)
    }
  }

  private func endIfCancelled(_ work: IdleWork, afterPiece: Bool) -> Bool {
    guard work.isCancelled else { return false }
    take(work, .cancelled, afterPiece: afterPiece)
    return true
  }

  /// Out of the queue, and ended.
  private func take(_ work: IdleWork, _ end: IdleWork.End, afterPiece: Bool = false) {
    loop.idleState.value.backlog.remove(work)
    self.end(work, end, afterPiece: afterPiece)
  }
}

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
      switch idle.runPiece(at: now, nextTimer: nextTimer, isTracking: isTracking) {
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
