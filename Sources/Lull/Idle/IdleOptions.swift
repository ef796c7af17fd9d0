// SPDX-License-Identifier: Apache-2.0

extension IdleWork {
  /// Which work goes first while it fits.
  ///
  /// Work that waits goes up by one priority at half of its maximum wait, and by two at three
  /// quarters; at all of it a piece runs though it does not fit. Work of one key has the priority
  /// of the highest of its items that wait, for it runs in order.
  public enum Priority: UInt8, Sendable, Comparable, CaseIterable {
    /// After everything else.
    case low
    /// The usual one.
    case medium
    /// Before everything else.
    case high

    /// Lower priorities come first.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }

  /// What becomes of work while the loop runs in ``Loop/Mode/eventTracking``: while the user drags
  /// or scrolls. When that ends everything goes on as before.
  public enum Tracking: UInt8, Sendable, CaseIterable {
    /// Its pieces run in at most a tenth of the time. The usual one.
    case throttle
    /// Nothing changes.
    case run
    /// None of its pieces runs, not even by their maximum wait.
    case pause
  }

  /// What a piece that throws ends besides its item.
  public enum ErrorReach: UInt8, Sendable, CaseIterable {
    /// Nothing: other work goes on.
    case item
    /// All that waits under its key.
    case key
    /// All that waits.
    case queue
  }

  /// How an item is to be treated. Those of most work are the usual ones.
  public struct Options: Sendable {
    /// Which work goes first while it fits.
    public var priority: Priority
    /// After so long without a piece, one runs though events keep coming or it does not fit; one
    /// such piece a pass.
    public var maximumWait: Duration
    /// What a piece takes at most, per unit of weight, where that is known. Pieces that turn out to
    /// take longer are believed. Nil to learn it.
    public var cost: Duration?
    /// What becomes of it while the user drags or scrolls.
    public var tracking: Tracking
    /// What a piece that throws ends besides its item.
    public var errorReach: ErrorReach

    /// Options, the usual ones where nothing is said.
    public init(
      priority: Priority = .medium, maximumWait: Duration = .seconds(1), cost: Duration? = nil,
      tracking: Tracking = .throttle, errorReach: ErrorReach = .item
    ) {
      self.priority = priority
      self.maximumWait = maximumWait
      self.cost = cost
      self.tracking = tracking
      self.errorReach = errorReach
    }
  }
}
