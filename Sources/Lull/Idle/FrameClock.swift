// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tells idle work when the next frame is due, so that no piece runs into it.
///
/// It follows a timer of the loop, or is told of each frame by whoever draws.
///
/// ```swift
/// let frames = Loop.main.schedule(every: .nanoseconds(16_666_667), in: .common) { _ in draw() }
/// Loop.main.idle.frameClock = FrameClock(following: frames)
/// ```
///
/// > Threads: any.
public final class FrameClock: Sendable {
  private let timer: Loop.Timer?
  private let period: Int64
  /// When the last frame was due.
  private let last: Atomic<Int64>

  /// A clock whose frames are the dates of a timer on the monotonic clock.
  public init(following timer: Loop.Timer) {
    precondition(
      timer.base == .suspending, "frames are on the monotonic clock: give the timer that base")
    self.timer = timer
    period = timer.intervalNanoseconds
    last = Atomic(0)
  }

  /// A clock of frames every `period`, counted from the last one it was told of.
  public init(period: Duration) {
    precondition(period > .zero, "a frame clock needs a period above zero")
    timer = nil
    self.period = period.wholeNanoseconds
    last = Atomic(.max)
  }

  /// A frame due at `instant` begins; the next is due one period later. Any thread.
  public func frameBegan(dueAt instant: Loop.Instant) {
    last.store(instant.nanoseconds, ordering: .relaxed)
  }

  /// When the first frame after `instant` is due; nil if none is known of: the timer is invalid or
  /// in its handler, or its date has passed in a mode that does not run; no frame was ever told
  /// of.
  public func nextFrame(after instant: Loop.Instant) -> Loop.Instant? {
    if let timer {
      guard timer.isValid else { return nil }
      let next = timer.nextFire
      return next > instant ? next : nil
    }
    let last = last.load(ordering: .relaxed)
    guard last != .max else { return nil }
    let now = instant.nanoseconds
    guard now >= last else { return Loop.Instant(nanoseconds: last) }
    return Loop.Instant(nanoseconds: last.addingClamped(((now - last) / period + 1) * period))
  }

  var periodNanoseconds: Int64 { period }

  /// Whether serving `timer` is serving a frame.
  func follows(_ timer: Loop.Timer) -> Bool { self.timer === timer }

  /// When the last frame that it was told of was due; nil for a clock that follows a timer, whose
  /// frames the loop serves itself.
  var lastTold: Int64? {
    let last = last.load(ordering: .relaxed)
    return timer == nil && last != .max ? last : nil
  }
}
