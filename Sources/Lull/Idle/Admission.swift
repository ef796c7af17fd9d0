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

  /// The answer for one piece.
  enum Verdict {
    case run
    /// Not in this pass: its share is spent, and others come first.
    case inNextPass
    /// Not before the next frame or timer.
    case inNextGap
  }

  /// How far from the next frame or timer a piece has to end, as expected.
  static let margin: Int64 = 150_000
  /// How late a frame may be and still be on time.
  static let onTime: Int64 = 1_000_000
  /// Without a frame clock: the share of one pass, and of one when nothing has happened for `quiet`.
  static let budget: Int64 = 5_000_000
  static let quietBudget: Int64 = 50_000_000
  static let quiet: Int64 = 100_000_000

  /// Whether no piece has run in this gap.
  private var isFresh = true
  /// Whether what the gap began with, a frame or timers, was served on time.
  private var isOnTime = true
  /// Where the gap ends, as last seen.
  private var gapEnd = Int64.max
  /// The longest gap of late, which shrinks slowly: what no gap will ever hold.
  private var longestGap: Int64 = 0
  private var shareBegan: Int64 = 0
  private var ranInShare = false
  private var lastEvent = Int64.min

  // MARK: What happened

  /// A frame or timer due at `due` began to be served at `began`: behind it a gap begins.
  mutating func served(due: Int64, began: Int64) {
    beginGap(onTime: began - due <= Admission.onTime)
    gapEnd = .max
  }

  private mutating func beginGap(onTime: Bool) {
    isFresh = true
    isOnTime = onTime
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

  /// Comes before the questions of a moment.
  mutating func look(at moment: Moment) {
    // A frame that never came, or the end of an earlier run: nobody served it, and nobody was late.
    if moment.now >= gapEnd { beginGap(onTime: true) }
    gapEnd = moment.end
    guard isFresh, moment.end != .max else { return }
    longestGap = max(moment.end - moment.now, longestGap - longestGap / 64)
  }

  // MARK: What may run

  /// Whether a piece may run at this moment.
  func verdict(on piece: Piece, at moment: Moment) -> Verdict {
    if moment.nextFrame == nil, ranInShare, isSpent(moment) { return .inNextPass }
    guard moment.end != .max else { return .run }
    if let cost = piece.cost {
      if moment.now.addingClamped(cost) <= moment.end - Admission.margin { return .run }
      // It would fit a gap such as there are: it waits for one.
      if cost <= longestGap - Admission.margin, moment.now < piece.overdueAt { return .inNextGap }
    }
    // Unknown, longer than any gap, or overdue. Without frames a long way to the next timer will do;
    // with them it runs where it hurts least, right after one, and never twice without a frame on
    // time between, unless it has waited for as long as it may.
    if moment.nextFrame == nil, moment.end - moment.now >= Admission.quietBudget { return .run }
    return isFresh && (isOnTime || moment.now >= piece.overdueAt) ? .run : .inNextGap
  }

  private func isSpent(_ moment: Moment) -> Bool {
    let isQuiet = lastEvent == .min || shareBegan - lastEvent >= Admission.quiet
    return moment.now - shareBegan >= (isQuiet ? Admission.quietBudget : Admission.budget)
  }
}
