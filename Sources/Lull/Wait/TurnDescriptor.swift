// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// One descriptor for whoever waits in a loop's stead: readable when the loop's own wait would end.
///
/// An epoll around the loop's own, which may be replaced, with a timer for its deadline.
final class TurnDescriptor {
  private let own: OwnedDescriptor
  private let timer: KernelTimer
  private var deadline = Int64.max

  init() throws(SystemError) {
    own = try OwnedDescriptor("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    timer = try KernelTimer(CLOCK_MONOTONIC)
    try EpollSet.control(
      own.number, EPOLL_CTL_ADD, timer.number, EPOLLIN.rawValue, OwnToken.clock)
  }

  var number: CInt { own.number }

  /// Takes in the loop's epoll; one that it replaces went when it was closed.
  func carry(_ epoll: CInt) throws(SystemError) {
    try EpollSet.control(own.number, EPOLL_CTL_ADD, epoll, EPOLLIN.rawValue, OwnToken.wake)
  }

  /// Readable from `deadline` on, until it is armed anew.
  func arm(until deadline: Int64) {
    // It has to be set anew once it has expired, or it stays readable.
    guard deadline != self.deadline || deadline <= readClock(CLOCK_MONOTONIC) else { return }
    self.deadline = deadline
    do {
      try timer.set(deadline)
    } catch {
      preconditionFailure("\(error): close only descriptors that are yours")
    }
  }
}
