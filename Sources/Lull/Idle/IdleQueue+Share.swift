// SPDX-License-Identifier: Apache-2.0

/// The seam between the loop and its idle work: a pass that would sleep gives a share until something
/// is ready, and learns when to come back.
extension IdleQueue {
  /// Whether there is work that a run could do. Not inside a piece: nested runs give no share.
  @inline(__always)
  var hasWork: Bool {
    loop.state.value.idle.backlog.count > 0 && loop.state.value.idle.running == nil
  }

  /// Runs one piece if one may run now.
  func runPiece(at now: Int64, nextTimer: Int64) -> Outcome {
    let moment = Admission.Moment(now: now, nextFrame: nextFrame(at: now), nextTimer: nextTimer)
    loop.state.value.idle.admission.look(at: moment)
    var isSpent = false
    for lane in loop.state.value.idle.backlog.candidates {
      guard let piece = nextPiece(of: lane) else { return .ended }
      switch loop.state.value.idle.admission.verdict(on: piece, at: moment) {
      case .run:
        run(lane)
        return .ran
      case .inNextPass: isSpent = true
      case .inNextGap: break
      }
    }
    // Timers wake the loop themselves; a frame of somebody else's does not.
    return .wait(until: isSpent ? now : moment.nextFrame ?? .max)
  }

  enum Outcome {
    /// A piece ran; ask the kernel before the next.
    case ran
    /// An item had nothing left and ended.
    case ended
    /// Nothing fits before this moment, unless a timer or an event comes first.
    case wait(until: Int64)
  }

  /// Runs one piece that has waited for as long as it may, though the loop is busy.
  func runOverdue(at now: Int64) {
    for lane in loop.state.value.idle.backlog.candidates {
      let work = lane.items[0]
      guard now >= work.waitsSince.addingClamped(work.maximumWait) else { continue }
      guard nextPiece(of: lane) != nil else { return }
      return run(lane)
    }
  }

  // MARK: What the loop did

  func shareBegins(at now: Int64) {
    loop.state.value.idle.admission.shareBegins(at: now)
    // Frames that a host tells of are not timers of ours.
    if let told = loop.state.value.idle.frameClock?.lastTold,
      told != loop.state.value.idle.frameSeen
    {
      loop.state.value.idle.frameSeen = told
      loop.state.value.idle.admission.served(due: told, began: told)
    }
  }

  /// Timers due at `due` began to be served at `began`.
  func timersFired(due: Int64, began: Int64) {
    loop.state.value.idle.admission.served(due: due, began: began)
    loop.state.value.idle.admission.event(at: began)
  }

  func eventServed(at now: Int64) { loop.state.value.idle.admission.event(at: now) }

  private func nextFrame(at now: Int64) -> Int64? {
    loop.state.value.idle.frameClock?.nextFrame(after: Loop.Instant(nanoseconds: now))?.nanoseconds
  }

  // MARK: Pieces

  /// What is known of the next piece of a key; nil if its first item had none left and was ended.
  private func nextPiece(of lane: Backlog.Lane) -> Admission.Piece? {
    let work = lane.items[0]
    if !work.hasBegun {
      work.hasBegun = true
      work.steps?.begin()
    }
    guard let weight = work.steps?.nextWeight else {
      loop.state.value.idle.backlog.remove(work)
      end(work, .finished)
      return nil
    }
    return Admission.Piece(
      cost: lane.costs.expected(weight: weight),
      overdueAt: work.waitsSince.addingClamped(work.maximumWait))
  }

  private func run(_ lane: Backlog.Lane) {
    let work = lane.items[0]
    guard let steps = work.steps, let weight = steps.nextWeight else { return }
    let queued = lane.items.count
    loop.state.value.idle.running = work
    loop.record(.pieceBegins(key: work.key.name))
    let began = loop.now.nanoseconds
    let result = Result { try steps.step() }
    let ended = loop.now.nanoseconds
    loop.record(.pieceEnds(key: work.key.name))
    loop.state.value.idle.running = nil

    lane.costs.learn(ended - began, weight: weight)
    loop.state.value.idle.admission.pieceRan()
    work.waitsSince = ended
    work.pieceRan()
    loop.state.value.idle.backlog.rotate(lane)
    settle(work, result, lane, queued)
  }

  private func settle(
    _ work: IdleWork, _ result: Result<IdleAnswer, any Error>, _ lane: Backlog.Lane, _ queued: Int
  ) {
    switch result {
    case .failure(let error):
      loop.state.value.idle.backlog.remove(work)
      end(work, .failed(error))
    case .success(.stop):
      // What came while the piece ran was not meant.
      let rest = lane.items.prefix(queued).dropFirst()
      for other in [work] + (work.steps is any StopsItsKey ? Array(rest) : []) {
        loop.state.value.idle.backlog.remove(other)
        end(other, other === work ? .stopped : .dropped)
      }
    case .success(.continue):
      if work.isCancelled {
        loop.state.value.idle.backlog.remove(work)
        end(work, .cancelled)
      } else if work.steps?.nextWeight == nil {
        loop.state.value.idle.backlog.remove(work)
        end(work, .finished)
      }
    }
  }
}

extension Loop {
  /// Step 7 of a pass: runs idle pieces while nothing is ready and time is left. Returns when to
  /// wake for the next one; `Int64.max` for never.
  func giveIdleShare(_ run: Activation, _ seen: UInt64, into ready: inout [ReadyEvent]) -> Int64 {
    guard idle.hasWork, state.value.modes[run.mode].isCommon else { return .max }
    idle.shareBegins(at: poller.now)
    var ranAny = false
    while idle.hasWork {
      if mustNotSleep(run, seen) { break }
      look(run, into: &ready)
      let now = poller.now
      let nextTimer = min(earliestDeadline(in: run.mode), run.limit)
      if !ready.isEmpty || nextTimer <= now {
        if !ranAny { idle.runOverdue(at: now) }
        break
      }
      switch idle.runPiece(at: now, nextTimer: nextTimer) {
      case .ran: ranAny = true
      case .ended: break
      case .wait(let until): return until
      }
    }
    return .max
  }

  /// A pass that handled a source gives no share, but work may not wait for ever.
  func giveOverdueIdleShare(_ run: Activation) {
    guard idle.hasWork, state.value.modes[run.mode].isCommon else { return }
    idle.runOverdue(at: poller.now)
  }
}
