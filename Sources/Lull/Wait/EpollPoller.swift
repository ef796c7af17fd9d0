// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc
internal import Synchronization

/// The kernel's back end: one epoll and one eventfd, however many modes and descriptors.
///
/// Where no descriptors can be had it waits on a futex, so that a loop always runs; it tries again
/// when a descriptor is to be watched.
final class EpollPoller: Poller, @unchecked Sendable {  // loop's thread, but for the atomics
  private static let wakeToken = UInt64.max
  private static let clockToken = UInt64.max - 1
  private static let capacity = 128

  private var kernel: Kernel?
  private var watched: [CInt: Watch] = [:]
  private var generation = lull_fork_generation()
  private var continuousDeadline = Int64.max
  private var ownSlack: UInt64?
  private let events = EventBuffer(capacity: EpollPoller.capacity)

  /// The epoll and eventfd, for the calls that come from any thread; -1 without.
  private let epoll = Atomic<CInt>(-1)
  private let eventfd = Atomic<CInt>(-1)
  /// What the futex sleeps on; 1 is a wake not yet seen.
  private let word = Atomic<UInt32>(0)

  private struct Watch {
    let interest: Loop.Readiness
    let token: UInt64
  }

  /// What belongs to this process alone and is made anew in a forked child.
  private final class Kernel {
    let epoll: OwnedDescriptor
    let eventfd: OwnedDescriptor
    private var timer: OwnedDescriptor?
    private var timerNumber: CInt = -1

    init() throws(SystemError) {
      epoll = try OwnedDescriptor("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
      eventfd = try OwnedDescriptor("eventfd") {
        CLull.eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
      }
      // Edge-triggered and never read: each write is one event, and the read is saved.
      try control(
        epoll.number, EPOLL_CTL_ADD, eventfd.number, EPOLLIN.rawValue | EPOLLET.rawValue,
        EpollPoller.wakeToken)
    }

    /// The kernel timer for the clock that counts suspend, which epoll_pwait2 cannot wait on.
    func setTimer(_ deadline: Int64) throws(SystemError) {
      if timerNumber < 0 {
        let made = try OwnedDescriptor("timerfd_create") {
          timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        }
        try control(
          epoll.number, EPOLL_CTL_ADD, made.number, EPOLLIN.rawValue | EPOLLET.rawValue,
          EpollPoller.clockToken)
        timerNumber = made.number
        timer = consume made
      }
      var setting = itimerspec()
      if deadline != .max {
        // Zero would disarm it: a date before the boot is due now.
        let due = max(deadline, 1)
        setting.it_value = timespec(
          tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
      }
      let number = timerNumber
      try checked("timerfd_settime") {
        unsafe timerfd_settime(number, Int32(TFD_TIMER_ABSTIME), &setting, nil)
      }
    }
  }

  init() { open() }

  // MARK: Clocks

  var now: Int64 { readClock(CLOCK_MONOTONIC) }
  var continuousNow: Int64 { readClock(CLOCK_BOOTTIME) }

  // MARK: Descriptors

  var watchesNothing: Bool { watched.isEmpty && continuousDeadline == .max }

  func prepare(_ descriptor: CInt) throws(SystemError) {
    let epoll = epoll.load(ordering: .acquiring)
    guard epoll >= 0 else { return }  // The loop's thread will try again to open one, and say so.
    do {
      // One-shot and for nothing: whatever it reports comes at most once, under a token nobody has.
      try control(epoll, EPOLL_CTL_ADD, descriptor, EPOLLONESHOT.rawValue, EpollPoller.clockToken)
    } catch  where error.code == EEXIST {
    }
  }

  func watch(_ descriptor: CInt, for interest: Loop.Readiness, token: UInt64) throws(SystemError) {
    guard !interest.isEmpty else { return unwatch(descriptor) }
    if kernel == nil { try reopen() }
    try register(descriptor, interest, token)
    watched[descriptor] = Watch(interest: interest, token: token)
  }

  func unwatch(_ descriptor: CInt) {
    watched[descriptor] = nil
    guard let epoll = kernel?.epoll.number else { return }
    // The user may have closed it, which took it out already.
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
  }

  private func register(_ descriptor: CInt, _ interest: Loop.Readiness, _ token: UInt64)
    throws(SystemError)
  {
    let epoll = kernel!.epoll.number
    let bits = interest.epollBits
    do {
      try control(
        epoll, watched[descriptor] == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, bits, token)
    } catch  where error.code == EEXIST {
      try control(epoll, EPOLL_CTL_MOD, descriptor, bits, token)
    } catch  where error.code == ENOENT {
      // Closed and opened again behind our back: the number is the same, the file is not.
      try control(epoll, EPOLL_CTL_ADD, descriptor, bits, token)
    }
  }

  func setContinuousDeadline(_ deadline: Int64) {
    guard deadline != continuousDeadline else { return }
    continuousDeadline = deadline
    // Without descriptors the wait below is cut into pieces instead.
    try? kernel?.setTimer(deadline)
  }

  // MARK: Waiting

  func wait(until deadline: Int64, into ready: inout [ReadyEvent]) {
    if generation != lull_fork_generation() { forked() }
    guard let epoll = kernel?.epoll.number else { return waitOnFutex(until: deadline) }
    let count = waitOnce(epoll, until: deadline)
    for index in 0..<count {
      let (token, bits) = events[index]
      guard token < EpollPoller.clockToken else { continue }
      ready.append(ReadyEvent(token: token, readiness: Loop.Readiness(epollBits: bits)))
    }
  }

  /// Named plainly so that a profile shows it: here, and only here, the thread sleeps.
  private func waitOnce(_ epoll: CInt, until deadline: Int64) -> Int {
    // The plain call is 80 ns cheaper and does for "at once" and "no limit".
    if deadline == .min {
      return max(0, Int(unsafe epoll_wait(epoll, events.start, Int32(EpollPoller.capacity), 0)))
    }
    if deadline == .max {
      return max(0, Int(unsafe epoll_wait(epoll, events.start, Int32(EpollPoller.capacity), -1)))
    }
    let left = deadline.addingClamped(-now)
    if left <= 0 {
      return max(0, Int(unsafe epoll_wait(epoll, events.start, Int32(EpollPoller.capacity), 0)))
    }
    takeSlack()
    let result = unsafe lull_epoll_wait_ns(epoll, events.start, Int32(EpollPoller.capacity), left)
    if result != -ENOSYS { return max(0, Int(result)) }
    // Before Linux 5.11: whole milliseconds, rounded up lest the last one be spent spinning.
    let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
    return max(
      0, Int(unsafe epoll_wait(epoll, events.start, Int32(EpollPoller.capacity), milliseconds)))
  }

  private func waitOnFutex(until deadline: Int64) {
    let due = min(
      deadline,
      continuousDeadline == .max ? .max : now.addingClamped(continuousDeadline - continuousNow))
    let left = due == .max ? nil : Optional(due == .min ? 0 : due.addingClamped(-now))
    if word.exchange(0, ordering: .sequentiallyConsistent) == 0, left ?? 1 > 0 {
      takeSlack()
      futexWait(word, while: 0, nanoseconds: left)
      word.store(0, ordering: .sequentiallyConsistent)
    }
  }

  func wake() {
    let descriptor = eventfd.load(ordering: .acquiring)
    if descriptor >= 0 {
      let saved = errno  // We may be in a signal handler.
      eventfd_write(descriptor, 1)
      errno = saved
    } else {
      word.store(1, ordering: .sequentiallyConsistent)
      futexWake(word)
    }
  }

  // MARK: The thread and the process

  func runBegins() {}

  func runEnds() {
    guard let slack = ownSlack else { return }
    ownSlack = nil
    _ = lull_exchange_timer_slack(slack)
  }

  /// Waits end within a nanosecond of the deadline instead of the thread's usual 50 microseconds.
  private func takeSlack() {
    if ownSlack == nil { ownSlack = lull_exchange_timer_slack(1) }
  }

  /// A child made by fork shares our descriptors with its parent: what it writes there wakes a
  /// stranger. It gets its own, with everything we watch.
  private func forked() {
    generation = lull_fork_generation()
    kernel = nil
    open()
    for (descriptor, watch) in watched {
      try? register(descriptor, watch.interest, watch.token)
    }
    if continuousDeadline != .max { try? kernel?.setTimer(continuousDeadline) }
  }

  private func open() { try? reopen() }

  private func reopen() throws(SystemError) {
    epoll.store(-1, ordering: .releasing)
    eventfd.store(-1, ordering: .releasing)
    let made = try Kernel()
    kernel = made
    epoll.store(made.epoll.number, ordering: .releasing)
    eventfd.store(made.eventfd.number, ordering: .releasing)
    if continuousDeadline != .max { try made.setTimer(continuousDeadline) }
  }
}

private func control(
  _ epoll: CInt, _ operation: CInt, _ descriptor: CInt, _ events: UInt32, _ token: UInt64
) throws(SystemError) {
  var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: token))
  try checked("epoll_ctl") { unsafe epoll_ctl(epoll, operation, descriptor, &event) }
}

/// Room for what one wait reports.
@safe
private final class EventBuffer {
  let start: UnsafeMutablePointer<epoll_event>
  private let capacity: Int

  init(capacity: Int) {
    self.capacity = capacity
    unsafe start = .allocate(capacity: capacity)
    unsafe start.initialize(repeating: epoll_event(), count: capacity)
  }

  deinit { unsafe start.deallocate() }

  subscript(index: Int) -> (token: UInt64, bits: UInt32) {
    precondition(index < capacity)
    return unsafe (start[index].data.u64, start[index].events)
  }
}

extension Loop.Readiness {
  fileprivate var epollBits: UInt32 {
    (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
  }

  fileprivate init(epollBits bits: UInt32) {
    self = []
    if bits & EPOLLIN.rawValue != 0 { insert(.readable) }
    if bits & EPOLLOUT.rawValue != 0 { insert(.writable) }
    if bits & EPOLLHUP.rawValue != 0 { insert(.hangUp) }
    if bits & EPOLLERR.rawValue != 0 { insert(.error) }
  }
}
