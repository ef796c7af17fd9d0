// SPDX-License-Identifier: Apache-2.0

/// Decides whether a piece of idle work may run now.
///
/// A value that is told the time: no clock, no queue, no call into anything. The pass has asked
/// the kernel before each question, so nothing is ready or due at the moment.
struct Admission {
  /// What a piece may run into.
  struct Moment {
    let now: Int64
    /// When the next frame is due; nil without a frame clock.
    let nextFrame: Int64?
    /// When the next timer of the mode is due, or the run ends; `Int64.max` for neither.
    let nextTimer: Int64

    /// What comes first.
    var end: Int64 { min(nextFrame ?? .max, nextTimer) }
  }

  /// A piece as far as it matters here.
  struct Piece {
    /// What it should take at most; nil when its key has run nothing yet.
    let cost: Int64?
    /// When it has waited for as long as it may.
    let overdueAt: Int64
  }

  /// How far from the next frame or timer a piece has to end, as expected.
  static let margin: Int64 = 150_000
  /// How late a frame may be and still be on time.
  static let onTime: Int64 = 1_000_000
  /// Without a frame clock: the share of one pass, and of one when nothing has happened for `quiet`.
  static let budget: Int64 = 5_000_000
  static let quietBudget: Int64 = 50_000_000
  static let quiet: Int64 = 100_000_000

  /// Whether no piece has run since the last frame (or timer) was served, on time.
  private var isFresh = true
  /// The longest gap of late, which shrinks slowly: what no gap will ever hold.
  private var longestGap: Int64 = 0
  private var shareBegan: Int64 = 0
  private var ranInShare = false
  private var lastEvent = Int64.min

  // MARK: What happened

  /// A frame or timer due at `due` was served until `now`: a gap begins.
  mutating func served(due: Int64, began: Int64) {
    isFresh = began - due <= Admission.onTime
  }

  /// Something other than idle work happened.
  mutating func event(at now: Int64) { lastEvent = now }

  mutating func shareBegins(at now: Int64) {
    shareBegan = now
    ranInShare = false
  }

  mutating func pieceRan() {
    isFresh = false
    ranInShare = true
  }

  /// Notes how long a gap is, seen from its beginning.
  mutating func look(at moment: Moment) {
    guard isFresh, moment.end != .max else { return }
    longestGap = max(moment.end - moment.now, longestGap - longestGap / 64)
  }

  // MARK: What may run

  /// Whether a piece may run at this moment.
  func admits(_ piece: Piece, at moment: Moment) -> Bool {
    if moment.nextFrame == nil, ranInShare, spent(moment) { return false }
    guard moment.end != .max else { return true }
    if let cost = piece.cost {
      if moment.now.addingClamped(cost) <= moment.end - Admission.margin { return true }
      // It would fit a gap such as there are: it waits for one.
      if cost <= longestGap - Admission.margin, moment.now < piece.overdueAt { return false }
    }
    // Unknown, longer than any gap, or overdue: where it hurts least, right after a frame, and never
    // twice without a frame on time between.
    return isFresh
  }

  private func spent(_ moment: Moment) -> Bool {
    let isQuiet = lastEvent == .min || shareBegan - lastEvent >= Admission.quiet
    return moment.now - shareBegan >= (isQuiet ? Admission.quietBudget : Admission.budget)
  }

  /// When it is worth asking again, if nothing was admitted: at the next frame. Timers wake the loop
  /// themselves.
  func nextQuestion(after moment: Moment) -> Int64 { moment.nextFrame ?? .max }
}
