// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

extension Loop {
  /// A moment on the clock that a loop lives by: nanoseconds of the system's monotonic clock.
  ///
  /// It stands still while the machine is suspended and never jumps with the wall clock. Swift's
  /// `SuspendingClock` reads the same clock on Linux.
  public struct Instant: InstantProtocol, Sendable, CustomStringConvertible {
    /// Nanoseconds since an arbitrary start, the same for every thread and process of this boot.
    public let nanoseconds: Int64

    /// Makes an instant from its nanoseconds.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The present moment of the system's monotonic clock. About 25 ns.
    ///
    /// A loop on virtual time has its own: use ``Loop/now``.
    public static var now: Instant { Instant(nanoseconds: readClock(CLOCK_MONOTONIC)) }

    /// Later than any deadline: as a limit, no limit.
    public static let distantFuture = Instant(nanoseconds: .max)

    /// Earlier than any deadline: as a limit, one pass that does not wait.
    public static let distantPast = Instant(nanoseconds: .min)

    /// This moment moved by `duration`; beyond the ends of the clock it stays at the end.
    @inlinable
    public func advanced(by duration: Duration) -> Instant {
      let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
      guard overflow else { return Instant(nanoseconds: sum) }
      return duration < .zero ? .distantPast : .distantFuture
    }

    /// The time from this moment to `other`, negative when `other` is earlier.
    public func duration(to other: Instant) -> Duration {
      let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
      guard overflow else { return .nanoseconds(difference) }
      return .nanoseconds(other < self ? Int64.min : Int64.max)
    }

    /// Earlier moments come first.
    @inlinable
    public static func < (left: Instant, right: Instant) -> Bool {
      left.nanoseconds < right.nanoseconds
    }

    /// The nanoseconds, for logs.
    public var description: String { "\(nanoseconds) ns" }
  }

  /// The clock a timer is set by.
  public enum TimeBase: Sendable {
    /// Stands still while the machine is suspended: a timer due in a minute fires after a minute of
    /// use. What CFRunLoop uses, and the default. The kernel's `CLOCK_MONOTONIC`.
    case suspending

    /// Counts suspend: a timer due in an hour has fired once when the lid opens two hours later.
    /// The kernel's `CLOCK_BOOTTIME`.
    case continuous
  }
}

extension Duration {
  /// Nanoseconds, rounded toward zero and held within 64 bits (292 years).
  @inlinable
  var wholeNanoseconds: Int64 {
    // A thousand million is 2^9 times 1 953 125: up to 78 minutes a division of 64 bits will do,
    // a tenth of one of 128.
    let exact = self.attoseconds
    if exact >= 0, exact < Int128(1) << 72 {
      return Int64(truncatingIfNeeded: exact &>> 9) / 1_953_125
    }
    return wholeNanosecondsOfMany
  }

  @usableFromInline
  var wholeNanosecondsOfMany: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    if carry { return seconds < 0 ? .min : .max }
    return sum
  }
}

extension Int64 {
  /// The sum, held at the ends of the range: a deadline that would overflow never comes.
  @inline(__always)
  func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }
}

/// Nanoseconds on one of the kernel's clocks.
@inline(__always)
func readClock(_ clock: clockid_t) -> Int64 { lull_clock(clock) }
