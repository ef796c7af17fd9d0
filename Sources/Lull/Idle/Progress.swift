// SPDX-License-Identifier: Apache-2.0

extension IdleWork {
  /// How far work has come.
  public struct Progress: Sendable, Hashable {
    /// Pieces that ran.
    public let done: Int
    /// Pieces in all, where that is known without running it.
    public let total: Int?
    /// How long its pieces took, waits aside; zero for work of one piece.
    public let time: Duration

    init(done: Int, total: Int?, spent: Int64) {
      self.done = done
      self.total = total
      time = .nanoseconds(spent)
    }

    /// From 0 to 1; nil where the number of pieces is not known.
    public var fraction: Double? {
      guard let total else { return nil }
      return total == 0 ? 1 : min(1, Double(done) / Double(total))
    }

    /// How long the pieces that are left will take, by the mean of those that ran; nil before the
    /// first, and where their number is not known. Waits for a gap come on top.
    public var timeLeft: Duration? {
      guard let total, done > 0 else { return nil }
      return time / Double(done) * Double(max(0, total - done))
    }
  }
}
