// SPDX-License-Identifier: Apache-2.0

/// How a piece runs, and what comes of it.
extension IdleQueue {
  /// Gets an item ready for a first piece whose weight decides whether it runs.
  func begin(_ work: IdleWork) {
    // The caller's code may come back to the queue, or run the loop: neither begins another piece,
    // or takes this one out.
    loop.idleState.value.running = Unretained(work)
    work.stage = .begun
    work.begin()
    loop.idleState.value.running = Unretained(nil)
  }

  /// Runs a piece of a key's first item; when it ended.
  @discardableResult
  func run(_ candidate: Candidate, at moment: Admission.Moment) -> Int64 {
    // Whatever is called meanwhile, what is running stays in its key.
    candidate.work.with { run($0, candidate, at: moment) }!
  }

  @inline(__always)
  private func run(
    _ work: IdleWork, _ candidate: Candidate, at moment: Admission.Moment
  ) -> Int64 {
    let (lane, piece) = (candidate.lane, candidate.piece)
    loop.idleState.value.running = candidate.work
    lane.value.pieceBegins()
    if loop.idleState.value.backlog.hasLower(than: lane) {
      loop.idleState.value.tally.waited(.priority)
    }
    let isLong = piece.cost ?? .max >= Admission.longPiece
    let taken = isLong ? loop.poller.preemptions : 0
    loop.record(.pieceBegins(key: work.keyName))
    if work.stage == .new {
      work.stage = .begun
      work.begin()
    }
    let weight = work.isCancelled ? nil : work.nextWeight
    var result: Result<IdleAnswer, any Error>?
    if weight != nil {
      do { result = .success(try work.step()) } catch { result = .failure(error) }
    }
    let ended = loop.poller.now
    let time = max(0, ended - moment.now)
    // What it took while others had the processor says nothing of the next.
    let wasPreempted = isLong && time > piece.cost ?? .max && loop.poller.preemptions > taken
    if let weight {
      if !wasPreempted { lane.value.costs.learn(time, weight: weight) }
      work.took(time)
      loop.idleState.value.tally.ran(for: time, after: moment.now - work.waitsSince)
      if time > lane.value.longest {
        lane.value.longest = time
        loop.idleState.value.tally.tookLongest(work, time)
      }
      if let cost = piece.cost, time > cost { loop.idleState.value.tally.overruns += 1 }
    }
    if let nextFrame = moment.nextFrame, ended > nextFrame.addingClamped(Admission.onTime) {
      noteDelay(of: nextFrame, until: ended, by: work)
    }
    if moment.isTracking, work.tracking == .throttle {
      loop.idleState.value.throttledUntil = ended.addingClamped(9 * min(time, .max / 16))
    }
    loop.record(.pieceEnds(key: work.keyName))
    loop.idleState.value.running = Unretained(nil)
    loop.idleState.value.admission.pieceRan(
      took: wasPreempted ? 0 : time, expected: piece.cost,
      hastened: candidate.isHastened)
    work.waitsSince = max(ended, min(work.pausedUntil, .max / 2))
    loop.idleState.value.backlog.rotate(lane, after: time)
    if case .success(.continue)? = result, !work.isCancelled, work.nextWeight != nil {
      lane.value.pieceEnded()
    } else {
      settle(work, result, in: lane)
    }
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
    endedBy result: Result<IdleAnswer, any Error>?, of work: IdleWork, in lane: Place<Lane>
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

  /// Ends what the piece was the last of.
  private func settle(
    _ work: IdleWork, _ result: Result<IdleAnswer, any Error>?, in lane: Place<Lane>
  ) {
    let own = Unretained(work)
    own.retain()
    defer { own.release() }
    let others = others(endedBy: result, of: work, in: lane)
    lane.value.pieceEnded()
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

  func endIfCancelled(_ work: IdleWork, afterPiece: Bool) -> Bool {
    guard work.isCancelled else { return false }
    take(work, .cancelled, afterPiece: afterPiece)
    return true
  }

  /// Out of the queue, and ended.
  func take(_ work: IdleWork, _ end: IdleWork.End, afterPiece: Bool = false) {
    // The key's may have been the last reference.
    let own = Unretained(work)
    own.retain()
    defer { own.release() }
    loop.idleState.value.backlog.remove(work)
    self.end(work, end, afterPiece: afterPiece)
  }
}
