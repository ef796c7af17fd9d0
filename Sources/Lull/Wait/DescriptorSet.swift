// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// The descriptors of a loop as the kernel is told of them, and the wait for them. It also ends for
/// an eventfd and for the timer of the clock that counts suspend, and tells nobody of these.
protocol DescriptorSet: AnyObject {
  /// A descriptor that is readable while one of the set is ready; -1 without.
  var epoll: CInt { get }

  /// Whether a descriptor can be in such a set.
  func probe(_ descriptor: CInt) throws(SystemError)

  /// Takes a descriptor in, or changes what it is there for; `isNew` is a guess.
  func insert(
    _ descriptor: CInt, for interest: Loop.Readiness, token: UInt64, isNew: Bool
  ) throws(SystemError)

  /// Takes it out; it may be closed already.
  func remove(_ descriptor: CInt)

  /// Forgets all but its own descriptors, and whatever the kernel still reports of the others.
  func renew() throws(SystemError)

  /// Waits end at `deadline` on the clock that counts suspend; `Int64.max` for none.
  func setTimer(_ deadline: Int64) throws(SystemError)

  /// Waits for at most so long; nil for no limit. False when a signal handler came between.
  func wait(nanoseconds: Int64?, into ready: inout [ReadyEvent]) -> Bool
}

/// Tokens that stand for no descriptor of the loop's.
enum OwnToken {
  static let wake = UInt64.max
  static let clock = UInt64.max - 1
  static let first = clock
}

/// A timer of the kernel, as a descriptor.
final class KernelTimer {
  private let timer: OwnedDescriptor

  init(_ clock: clockid_t) throws(SystemError) {
    timer = try OwnedDescriptor("timerfd_create") {
      timerfd_create(clock, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
    }
  }

  var number: CInt { timer.number }

  /// Readable from `deadline` on, until it is set anew; `Int64.max` for never.
  func set(_ deadline: Int64) throws(SystemError) {
    var setting = itimerspec()
    if deadline != .max {
      // Zero would disarm it: a date before the boot is due now.
      let due = max(deadline, 1)
      setting.it_value = timespec(
        tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
    }
    let number = timer.number
    try checked("timerfd_settime") {
      unsafe timerfd_settime(number, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }
  }
}
