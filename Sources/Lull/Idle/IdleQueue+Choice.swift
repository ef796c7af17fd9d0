// SPDX-License-Identifier: Apache-2.0

/// Which piece runs next, if one may.
extension IdleQueue {
  enum Outcome {
    /// A piece ran, until then; ask the kernel before the next.
    case ran(until: Int64)
    /// An item had nothing left and ended.
    case ended
    /// Nothing fits before this moment, unless a timer or an event comes first.
    case wait(until: Int64)
  }

  /// The next piece of a key's first item, which the key keeps.
  struct Candidate {
    let work: Unretained<IdleWork>
    let lane: Place<Lane>
    let piece: Admission.Piece
    /// Whether it goes ahead of others because it is overdue.
    let isHastened: Bool
  }

  private enum Answer {
    case mayRun(Candidate)
    case mustWait
    case ended
  }

  /// Before frames, how much more of the time than a key whose turn it is one may have had that
  /// goes first all the same, in nanoseconds.
  private static let headStart: Int64 = 250_000_000
  /// How many keys are asked for a longer piece.
  private static let mostAsked = 16

  /// Runs one piece if one may run now.
  func runPiece(at moment: Admission.Moment) -> Outcome {
    loop.idleState.value.hasNews = false
    loop.idleState.value.admission.look(at: moment)
    if loop.idleState.value.admission.isSpent(at: moment) {
      loop.idleState.value.tally.waited(.budget)
      return .wait(until: moment.now)
    }
    loop.idleState.value.backlog.age(at: moment.now)
    var next = moment.nextFrame ?? .max
    if !loop.idleState.value.admission.hasHastened,
      let lane = loop.idleState.value.backlog.overdue(
        at: moment.now, isTracking: moment.isTracking)
    {
      switch ask(lane, at: moment, isHastened: true, &next) {
      case .mayRun(let candidate): return .ran(until: run(candidate, at: moment))
      case .mustWait: break
      case .ended: return .ended
      }
    }
    var place = 0
    while place < loop.idleState.value.backlog.laneCount {
      let lane = loop.idleState.value.backlog.lane(place)
      switch ask(lane, at: moment, isHastened: false, &next) {
      case .mayRun(let candidate):
        guard moment.nextFrame != nil, loop.idleState.value.backlog.laneCount > 1 else {
          return .ran(until: run(candidate, at: moment))
        }
        return .ran(until: run(longest(from: candidate, at: place, moment), at: moment))
      case .mustWait: place += 1
      case .ended: return .ended
      }
    }
    return .wait(until: next)
  }

  /// Runs one piece that has waited for as long as it may, though the loop is busy.
  func runOverdue(at now: Int64, isTracking: Bool) {
    guard let lane = loop.idleState.value.backlog.overdue(at: now, isTracking: isTracking),
      let work = lane.value.first, let piece = nextPiece(of: work, in: lane, false)
    else { return }
    run(
      Candidate(work: Unretained(work), lane: lane, piece: piece, isHastened: true),
      at: Admission.Moment(
        now: now, nextFrame: nextFrame(at: now), nextTimer: .max, isTracking: isTracking))
  }

  // MARK: One key

  /// Whether the next piece of a key may run now; if not, `next` is when to ask again.
  @inline(__always)
  private func ask(
    _ lane: Place<Lane>, at moment: Admission.Moment, isHastened: Bool, _ next: inout Int64
  ) -> Answer {
    lane.value.front.with {
      ask($0, of: lane, at: moment, isHastened: isHastened, &next)
    } ?? .mustWait
  }

  @inline(__always)
  private func ask(
    _ work: IdleWork, of lane: Place<Lane>, at moment: Admission.Moment, isHastened: Bool,
    _ next: inout Int64
  ) -> Answer {
    if work.pausedUntil > moment.now {
      loop.idleState.value.tally.waited(.nothingToDo)
      next = min(next, work.pausedUntil)
      return .mustWait
    }
    if moment.isTracking, !isHastened, waitsForTracking(work, at: moment.now) {
      loop.idleState.value.tally.waited(.tracking)
      if work.tracking == .throttle { next = min(next, loop.idleState.value.throttledUntil) }
      return .mustWait
    }
    guard let piece = nextPiece(of: work, in: lane, moment.nextFrame != nil) else {
      return .ended
    }
    if loop.idleState.value.admission.admits(piece, at: moment) {
      return .mayRun(
        Candidate(work: Unretained(work), lane: lane, piece: piece, isHastened: isHastened))
    }
    let isFrame = moment.nextFrame ?? .max <= moment.end
    loop.idleState.value.tally.waited(isFrame ? .frame : .timer)
    next = min(
      next, loop.idleState.value.admission.nextQuestion(about: piece, after: moment.now))
    return .mustWait
  }

  private func waitsForTracking(_ work: IdleWork, at now: Int64) -> Bool {
    switch work.tracking {
    case .run: false
    case .throttle: now < loop.idleState.value.throttledUntil
    case .pause: true
    }
  }

  /// What is known of the next piece of a key's first item; nil if that had none left and was
  /// ended.
  @inline(__always)
  private func nextPiece(
    of work: IdleWork, in lane: Place<Lane>, _ hasFrames: Bool
  ) -> Admission.Piece? {
    if work.stage == .new {
      // To begin is to run the caller's code: that waits for the piece, unless its weight decides.
      guard work.isWeighted, !lane.value.costs.isEmpty || work.declaredCost != nil else {
        return piece(of: work, weight: 1, in: lane, hasFrames)
      }
      begin(work)
      if endIfCancelled(work, afterPiece: false) { return nil }
    }
    guard let weight = work.nextWeight else {
      take(work, .finished)
      return nil
    }
    return piece(of: work, weight: weight, in: lane, hasFrames)
  }

  @inline(__always)
  private func piece(
    of work: IdleWork, weight: Int, in lane: Place<Lane>, _ hasFrames: Bool
  ) -> Admission.Piece {
    Admission.Piece(
      cost: cost(of: work, weight, in: lane, hasFrames), overdueAt: work.overdueAt)
  }

  /// What was learned, or what the caller says where that is more.
  @inline(__always)
  private func cost(
    of work: IdleWork, _ weight: Int, in lane: Place<Lane>, _ hasFrames: Bool
  ) -> Int64? {
    guard let unit = work.declaredCost else {
      return hasFrames
        ? lane.value.costs.cautious(weight: weight) : lane.value.costs.expected(weight: weight)
    }
    let learned = lane.value.costs.expected(weight: weight)
    let (declared, overflow) = unit.multipliedReportingOverflow(by: Int64(max(1, weight)))
    return max(overflow ? .max : declared, learned ?? 0)
  }

  // MARK: Filling a gap

  /// The longest piece that fits, of the keys that may go before the one whose turn it is.
  ///
  /// A gap is filled best by long pieces first and short ones in what those leave; a long one that
  /// is left for the end has no short ones beside it. So a key may go first whose pieces are longer
  /// and which has more left to do, as long as it has not had too much more of the time.
  private func longest(
    from first: Candidate, at place: Int, _ moment: Admission.Moment
  ) -> Candidate {
    // One that does not fit, and may run all the same, has to run now.
    guard loop.idleState.value.admission.fits(first.piece, at: moment) else { return first }
    let limit = first.lane.value.used.addingClamped(IdleQueue.headStart)
    let least = timeLeft(first)
    var longest = first
    let end = min(loop.idleState.value.backlog.laneCount, place + IdleQueue.mostAsked)
    for place in place + 1..<end {
      let lane = loop.idleState.value.backlog.lane(place)
      guard lane.value.priority == first.lane.value.priority, lane.value.used <= limit else {
        break
      }
      guard let other = known(lane, at: moment), other.piece.cost! > longest.piece.cost!,
        loop.idleState.value.admission.fits(other.piece, at: moment), timeLeft(other) > least
      else { continue }
      longest = other
    }
    return longest
  }

  /// The next piece of a key, if that is known and costs are, and nothing keeps it from running.
  private func known(_ lane: Place<Lane>, at moment: Admission.Moment) -> Candidate? {
    guard let work = lane.value.first, work.pausedUntil <= moment.now,
      !moment.isTracking || !waitsForTracking(work, at: moment.now),
      let weight = work.stage == .new && !work.isWeighted ? 1 : work.nextWeight
    else { return nil }
    let piece = piece(of: work, weight: weight, in: lane, true)
    guard piece.cost != nil else { return nil }
    return Candidate(work: Unretained(work), lane: lane, piece: piece, isHastened: false)
  }

  /// What a key's pieces will take in all, if they are like its next; without end where their
  /// number is not known.
  private func timeLeft(_ candidate: Candidate) -> Int64 {
    guard let work = candidate.work.value, let total = work.total else { return .max }
    let pieces = Int64(candidate.lane.value.count - 1 + max(1, total - work.done))
    let (time, overflow) = pieces.multipliedReportingOverflow(by: candidate.piece.cost!)
    return overflow ? .max : time
  }
}
