// SPDX-License-Identifier: Apache-2.0

/// Decides whether a piece of idle work may run now.
///
/// A value that is told the time: no clock, no queue, no call into anything. The pass has asked
/// the kernel before each question, so nothing is ready or due at the moment.
package struct Admission {
  /// What a piece may run into.
  package struct Moment {
    let now: Int64
    /// When the next frame is due; nil without a frame clock.
    let nextFrame: Int64?
    /// When the next timer of the mode is due, or the run ends; `Int64.max` for neither.
    let nextTimer: Int64
    /// Whether the user drags or scrolls.
    let isTracking: Bool

    package init(
      now: Int64, nextFrame: Int64?, nextTimer: Int64, isTracking: Bool = false
    ) {
      self.now = now
      self.nextFrame = nextFrame
      self.nextTimer = nextTimer
      self.isTracking = isTracking
    }

    /// What comes first.
    var end: Int64 { min(nextFrame ?? .max, nextTimer) }
  }

  /// A piece as far as it matters here.
  package struct Piece {
    /// What it should take at most; nil when its key has run nothing yet.
    let cost: Int64?
    /// When it has waited for as long as it may.
    let overdueAt: Int64

    package init(cost: Int64?, overdueAt: Int64) {
      self.cost = cost
      self.overdueAt = overdueAt
    }
  }

  /// How far from the next frame or timer a piece has to end, as expected, while pieces take no
  /// longer than that; and at most.
  static let leastMargin: Int64 = 150_000
  static let mostMargin: Int64 = 2_000_000
  /// From which cost on it is worth a system call to learn whether a piece was preempted.
  static let longPiece: Int64 = 500_000
  /// How late a frame may be and still be on time.
  static let onTime: Int64 = 1_000_000
  /// Without a frame clock: the share of a pass, and of one when nothing has happened for `quiet`.
  static let budget: Int64 = 5_000_000
  static let quietBudget: Int64 = 50_000_000
  static let quiet: Int64 = 100_000_000
  /// How long an overdue piece goes on waiting for a frame on time, when none comes.
  static let patience: Int64 = 100_000_000

  /// Whether no piece has run since the last frame (or timer) was served, on time.
  private var isFresh = true
  /// When the last frame (or timer) on time began.
  private var lastOnTime = Int64.min
  /// How far from the next frame or timer a piece has to end. It follows how far pieces of late
  /// went beyond what was expected of them.
  package private(set) var margin = Admission.leastMargin
  /// When the next frame is due, as last seen.
  private var expectedFrame = Int64.max
  /// The longest gap of late, which shrinks slowly: what no gap will ever hold.
  private var longestGap: Int64 = 0
  private var hadFrames = false
  private var shareBegan: Int64 = 0
  private var ranInShare = false
  /// Whether a piece has gone ahead of others in this share because it was overdue.
  package private(set) var hasHastened = false
  private var lastEvent = Int64.min

  package init() {}

  // MARK: What happened

  /// A frame or timer due at `due` began to be served at `began`: a gap follows.
  package mutating func served(due: Int64, began: Int64) {
    isFresh = began - due <= Admission.onTime
    if isFresh { lastOnTime = began }
    expectedFrame = .max
  }

  /// Something other than idle work happened.
  package mutating func event(at now: Int64) { lastEvent = now }

  package mutating func shareBegins(at now: Int64) {
    shareBegan = now
    ranInShare = false
    hasHastened = false
  }

  package mutating func pieceRan(
    took time: Int64 = 0, expected cost: Int64? = nil, hastened: Bool = false
  ) {
    let wanted = min(time - (cost ?? time) + Admission.leastMargin, Admission.mostMargin)
    if wanted > margin {
      margin += (wanted - margin) / 8
    } else {
      margin -= (margin - Admission.leastMargin) / 256
    }
    isFresh = false
    ranInShare = true
    if hastened { hasHastened = true }
  }

  /// Notes how long a gap is, seen from its beginning.
  package mutating func look(at moment: Moment) {
    // A frame that never came was served by nobody, and late for nobody.
    if moment.now >= expectedFrame { isFresh = true }
    expectedFrame = moment.nextFrame ?? .max
    // Gaps between frames have nothing to do with those from before there were frames.
    let hasFrames = moment.nextFrame != nil
    if hasFrames != hadFrames { longestGap = 0 }
    hadFrames = hasFrames
    guard isFresh, moment.end != .max else { return }
    let gap = min(moment.end - moment.now, Admission.quietBudget)
    longestGap = max(gap, longestGap - longestGap / 64)
  }

  // MARK: What may run

  /// Whether the pass has done enough, and the loop's next pass goes on.
  package func isSpent(at moment: Moment) -> Bool {
    guard moment.nextFrame == nil, ranInShare else { return false }
    let isQuiet = lastEvent == .min || shareBegan - lastEvent >= Admission.quiet
    return moment.now - shareBegan >= (isQuiet ? Admission.quietBudget : Admission.budget)
  }

  /// Whether a piece may run at this moment.
  package func admits(_ piece: Piece, at moment: Moment) -> Bool {
    if fits(piece, at: moment) { return true }
    if isFresh {
      if moment.now >= piece.overdueAt { return true }
      // It would fit a gap such as there are: it waits for one.
      if let cost = piece.cost, cost <= longestGap - margin { return false }
      // Unknown, or longer than any gap: where it hurts least, right after a frame, and never
      // twice without a frame on time between.
      return moment.end - moment.now >= longestGap / 2
    }
    return !ranInShare && moment.now >= patienceEnds(for: piece)
  }

  /// Whether a piece should end before what comes next.
  func fits(_ piece: Piece, at moment: Moment) -> Bool {
    moment.end == .max
      || moment.now.addingClamped(expected(piece, moment)) <= moment.end - margin
  }

  /// When to ask again about a piece that was refused, if neither a frame nor a timer comes first.
  package func nextQuestion(about piece: Piece, after now: Int64) -> Int64 {
    if now < piece.overdueAt { return piece.overdueAt }
    return max(now, patienceEnds(for: piece))
  }

  /// When an overdue piece waits no longer for a frame on time; while those come it does.
  private func patienceEnds(for piece: Piece) -> Int64 {
    max(piece.overdueAt, lastOnTime).addingClamped(Admission.patience)
  }

  /// What a piece is taken to cost. Frames are protected from what nobody knows; a timer that is
  /// far away does not keep it.
  private func expected(_ piece: Piece, _ moment: Moment) -> Int64 {
    piece.cost ?? (moment.nextFrame == nil ? Admission.quietBudget : .max)
  }
}
