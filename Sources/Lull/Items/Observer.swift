// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// The points of a run that an observer can see, in the order they come.
  public struct Activities: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// CFRunLoop's bits.
    public let rawValue: UInt32

    /// Makes a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A run begins. Once a run.
    public static let entry = Activities(rawValue: 1)

    /// A pass begins.
    public static let beforeTimers = Activities(rawValue: 2)

    /// Blocks and signalled sources come next.
    public static let beforeSources = Activities(rawValue: 4)

    /// The loop is about to sleep. Not in passes that performed a signalled source, nor in runs
    /// without a time limit to wait for.
    public static let beforeWaiting = Activities(rawValue: 32)

    /// The loop woke, and has not yet served what woke it. Always in a pair with `beforeWaiting`.
    public static let afterWaiting = Activities(rawValue: 64)

    /// A run ends. Once a run.
    public static let exit = Activities(rawValue: 128)

    /// All of them, and any that later versions add.
    public static let all = Activities(rawValue: 0x0FFF_FFFF)

    /// The activities' names, for logs.
    public var description: String {
      let names: [(Activities, String)] = [
        (.entry, "entry"), (.beforeTimers, "beforeTimers"), (.beforeSources, "beforeSources"),
        (.beforeWaiting, "beforeWaiting"), (.afterWaiting, "afterWaiting"), (.exit, "exit"),
      ]
      return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
    }
  }

  /// Is called at chosen points of each pass.
  ///
  /// Observers of a mode are called by ascending ``order``, equal orders as added. One that is
  /// being called is not called again from a nested run; others are. An observer added during a
  /// notification waits for the next, one removed during it is not called any more.
  ///
  /// > Threads: any. The handler runs on the loop's thread.
  public final class Observer: Item, @unchecked Sendable {
    /// What it calls, with the one activity it is called for.
    public typealias Handler = @Sendable (Observer, Activities) -> Void

    /// What it is called for.
    public let activities: Activities

    /// Lower orders are called first.
    public let order: Int

    /// Whether it stays after its first call.
    public let repeats: Bool

    private(set) var handler: Handler?
    private var sinceWhenCommon: UInt64 = 0

    /// An observer of `activities`; one that does not repeat is invalidated after its first call.
    public init(
      _ activities: Activities, order: Int = 0, repeats: Bool = true, _ handler: @escaping Handler
    ) {
      self.activities = activities
      self.order = order
      self.repeats = repeats
      self.handler = handler
    }

    override var kind: ItemKind { .observer(self) }
    override func release() { handler = nil }
    override var commonSince: UInt64 {
      get { sinceWhenCommon }
      set { sinceWhenCommon = newValue }
    }
    override func joined(_ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop) {
      loop.state.value.modes[mode].observers.insert(self)
    }
    override func left(_ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop) {
      loop.state.value.modes[mode].observers.remove(self)
    }
  }
}
