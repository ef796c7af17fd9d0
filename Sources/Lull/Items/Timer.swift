// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

extension Loop {
  /// Calls its handler at a time, once or at an interval, in the modes it is in.
  ///
  /// A repeating timer keeps to the grid of its first date: it never drifts, and dates that were
  /// missed (because a callout took long, or no mode of the timer ran) coalesce into none, not
  /// into a burst. A timer in several modes has one schedule and fires in whichever runs.
  ///
  /// Timers fire in the order of their dates, equal dates in the order the timers were added.
  ///
  /// ```swift
  /// let timer = Loop.Timer(every: .seconds(1)) { timer in print("tick") }
  /// Loop.current.add(timer, to: .common)
  /// ```
  ///
  /// > Threads: any, except ``fire()``. The handler runs on the loop's thread.
  public final class Timer: Item, @unchecked Sendable {
    /// What a timer calls; it is handed the timer.
    public typealias Handler = @Sendable (Timer) -> Void

    /// Bytes in all: one more, and every timer takes sixteen more.
    static let size = 104

    /// When it is due, once a past date has been brought up to the present.
    let deadline: Atomic<Int64>
    let intervalNanoseconds: Int64
    /// The date it was given, which stays to be seen until it fires.
    let date: Atomic<Int64>
    let toleranceNanoseconds: Atomic<Int64>
    private(set) var handler: Handler?

    /// A timer that first fires at `first`, then every `interval`.
    ///
    /// - Parameters:
    ///   - first: When it fires first, on `base`. A past date means at once, in the next pass; the
    ///     grid of a repeating timer then starts now.
    ///   - interval: The time between dates, or nil to fire once. Zero or less is 0.1 ms, as
    ///     NSTimer documents.
    ///   - tolerance: How much later than its date it may fire, so that one wake-up can serve
    ///     several timers. It never fires early and its grid does not move. Held between zero and
    ///     half the interval.
    ///   - base: The clock of all its dates.
    ///   - handler: Called on the loop's thread.
    public init(
      at first: Instant, every interval: Duration? = nil, tolerance: Duration = .zero,
      base: TimeBase = .suspending, _ handler: @escaping Handler
    ) {
      intervalNanoseconds =
        interval.map { $0 <= .zero ? 100_000 : max(1, $0.wholeNanoseconds) } ?? 0
      date = Atomic(first.nanoseconds)
      deadline = Atomic(Timer.deadline(of: first.nanoseconds, on: base))
      toleranceNanoseconds = Atomic(0)
      self.handler = handler
      super.init()
      if base == .continuous { traits.insert(.continuous) }
      self.tolerance = tolerance
    }

    /// A timer that first fires after `delay`, then every `interval`; once if that is nil.
    public convenience init(
      after delay: Duration, every interval: Duration? = nil, tolerance: Duration = .zero,
      base: TimeBase = .suspending, _ handler: @escaping Handler
    ) {
      self.init(
        at: Instant(nanoseconds: Timer.now(on: base)).advanced(by: delay), every: interval,
        tolerance: tolerance, base: base, handler)
    }

    /// A timer that first fires after `interval`, and then at that interval.
    ///
    /// Zero or less is 0.1 ms.
    public convenience init(
      every interval: Duration, tolerance: Duration = .zero, base: TimeBase = .suspending,
      _ handler: @escaping Handler
    ) {
      self.init(
        after: max(interval, Timer.leastInterval), every: interval, tolerance: tolerance,
        base: base, handler)
    }

    static let leastInterval: Duration = .microseconds(100)

    /// The clock of its dates.
    public var base: TimeBase { traits.contains(.continuous) ? .continuous : .suspending }

    /// The time between dates; zero for a timer that fires once.
    public var interval: Duration { .nanoseconds(intervalNanoseconds) }

    /// How much later than its date it may fire. See ``init(at:every:tolerance:base:_:)``.
    ///
    /// Any thread; it counts from the next date on.
    public var tolerance: Duration {
      get { .nanoseconds(toleranceNanoseconds.load(ordering: .relaxed)) }
      set {
        let most = intervalNanoseconds > 0 ? intervalNanoseconds / 2 : Int64.max
        let held = min(max(0, newValue.wholeNanoseconds), most)
        toleranceNanoseconds.store(held, ordering: .relaxed)
      }
    }

    /// When it fires next: while its handler runs, the date being served. Setting it re-arms the
    /// timer and moves the grid of a repeating one.
    ///
    /// A past date fires in the next pass. Set from inside the handler, a later date is honoured;
    /// on a timer that fires once it has no effect there, for the timer ends when its handler
    /// returns. From another thread the loop wakes if it must. On an invalid timer, reading gives
    /// ``Loop/Instant/distantPast`` and setting does nothing.
    ///
    /// - Complexity: O(log *n*) in the timers of the same modes.
    public var nextFire: Instant {
      get { isValid ? Instant(nanoseconds: date.load(ordering: .relaxed)) : .distantPast }
      set {
        guard isValid else { return }
        if isAtHome {
          loop.with { $0.rearm(self, for: newValue.nanoseconds) }
        } else {
          set(newValue.nanoseconds, deadline: Timer.deadline(of: newValue.nanoseconds, on: base))
          owner?.submit(.rearm(self))
        }
      }
    }

    /// The deadline first: the loop, which may be about to put the next date of the grid here,
    /// never sees the new date without it.
    @inline(__always)
    package func set(_ newDate: Int64, deadline newDeadline: Int64) {
      deadline.store(newDeadline, ordering: .relaxed)
      date.store(newDate, ordering: .releasing)
    }

    /// Calls the handler now. The dates of a repeating timer stay as they are; a timer that fires
    /// once is invalidated after.
    ///
    /// - Precondition: on the loop's thread, if a loop has it.
    public func fire() {
      precondition(
        owner == nil || isAtHome,
        "fire() calls the handler on this thread, which is not the timer's; perform { timer.fire() } "
          + "on its loop"
      )
      guard isValid else { return }
      handler?(self)
      if intervalNanoseconds == 0 { invalidate() }
    }

    override var kind: ItemKind { .timer(self) }
    override func release() { handler = nil }
    override func removed(from mode: Mode, of loop: Loop) { loop.dismiss(self, from: mode) }
    @inline(__always)
    override func enters(_ loop: Loop) { loop.state.value.timers.adopt(self) }
    @inline(__always)
    override func leaves(_ loop: Loop) { loop.state.value.timers.release(self) }

    @inline(__always)
    override func joined(_ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop) {
      loop.state.value.modes[mode].items += 1
      loop.requeue(self, from: former)
    }

    @inline(__always)
    override func left(_ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop) {
      loop.state.value.modes[mode].items -= 1
      loop.requeue(self, from: former)
    }

    /// When it is due.
    @inline(__always)
    package var due: Int64 { deadline.load(ordering: .relaxed) }

    /// Whether it may fire later than it is due.
    @inline(__always)
    var isTolerant: Bool { toleranceNanoseconds.load(ordering: .relaxed) > 0 }

    /// By when it has to fire.
    @inline(__always)
    var latestFire: Int64 {
      due.addingClamped(toleranceNanoseconds.load(ordering: .relaxed))
    }

    /// The next date on the grid after a callout: the first one later than `now`.
    func gridDate(after now: Int64) -> Int64 {
      let served = due
      guard served <= now else { return served }
      let steps = (now - served) / intervalNanoseconds + 1
      let (offset, overflow) = steps.multipliedReportingOverflow(by: intervalNanoseconds)
      return overflow ? .max : served.addingClamped(offset)
    }

    /// A date, brought up to the present if it has passed.
    @inline(__always)
    static func deadline(of date: Int64, on base: TimeBase) -> Int64 {
      // The coarse clock costs a fifth, and is behind by one of its ticks: 10 ms, as a rule less.
      if base == .suspending, !Loop.hasVirtualLoops,
        date > readClock(CLOCK_MONOTONIC_COARSE) &+ 100_000_000
      {
        return date
      }
      return latest(date, on: base)
    }

    @inline(never)
    private static func latest(_ date: Int64, on base: TimeBase) -> Int64 {
      max(date, now(on: base))
    }

    /// On virtual time a thread has its own now; everything else reads the kernel's clock.
    private static func now(on base: TimeBase) -> Int64 {
      if let clock = Loop.virtualClock {
        return base == .suspending ? clock.now : clock.continuousNow
      }
      return readClock(base == .suspending ? CLOCK_MONOTONIC : CLOCK_BOOTTIME)
    }
  }
}
