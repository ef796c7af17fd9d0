// SPDX-License-Identifier: Apache-2.0
import CLull
import Glibc

extension Descriptor {
  /// A descriptor that turns readable at a moment of the monotonic clock, and every so often after
  /// it: a timer for loops whose own are not exact enough.
  ///
  /// - Parameter period: nil for once.
  init(readableAt first: Nanoseconds, every period: Nanoseconds? = nil) throws(SystemError) {
    self.init(owning: timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)))
    guard number >= 0 else { throw .last }
    var times = itimerspec(it_interval: timespec(period ?? 0), it_value: timespec(max(1, first)))
    guard unsafe timerfd_settime(number, Int32(TFD_TIMER_ABSTIME), &times, nil) == 0 else {
      throw .last
    }
  }

  /// Makes such a descriptor unreadable until the next moment.
  static func passMoment(of number: Int32) {
    var count: UInt64 = 0
    _ = unsafe Glibc.read(number, &count, MemoryLayout<UInt64>.size)
  }
}
