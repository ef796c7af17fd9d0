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
  private var continuousDeadline = Int64.max
  /// Whether the kernel's timer is set to it. There may have been no descriptor for one.
  private var continuousIsSet = true
  private var ownSlack: UInt64?
  private let events = EventBuffer(capacity: EpollPoller.capacity)

  /// The epoll and eventfd, for the calls that come from any thread; -1 without.
  private let epoll = Atomic<CInt>(-1)
  private let eventfd = Atomic<CInt>(-1)
  /// What the futex sleeps on; 1 is a wake not yet seen.
  private let word = Atomic<UInt32>(0)
  /// Whose descriptors these are: a child made by fork must not touch its parent's.
  private let generation = Atomic<UInt32>(lull_fork_generation())
  /// Whether the kernel, or what guards it, knows epoll_pwait2.
  private static let hasFineWait = Atomic<Bool>(true)

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

  init() { try? reopen() }

  // MARK: Clocks

  var now: Int64 { readClock(CLOCK_MONOTONIC) }
  var continuousNow: Int64 { readClock(CLOCK_BOOTTIME) }

  // MARK: Descriptors

  var watchesNothing: Bool { watched.isEmpty && continuousDeadline == .max }

  func prepare(_ descriptor: CInt) throws(SystemError) {
    var epoll = isForked ? -1 : epoll.load(ordering: .acquiring)
    var trial: Kernel?
    if epoll < 0 {
      // The loop's thread will open one too: here is the last chance to say that it cannot.
      let made = try Kernel()
      epoll = made.epoll.number
      trial = made
    }
    defer { extendLifetime(trial) }
    do {
      // One-shot and for nothing: whatever it reports comes at most once, under a token nobody has.
      try control(epoll, EPOLL_CTL_ADD, descriptor, EPOLLONESHOT.rawValue, EpollPoller.clockToken)
    } catch  where error.code == EEXIST {
    }
  }

  func watch(_ descriptor: CInt, for interest: Loop.Readiness, token: UInt64) throws(SystemError) {
    guard !interest.isEmpty else { return unwatch(descriptor) }
    if isForked { leaveParent() }
    if kernel == nil { try reopen() }
    try register(descriptor, interest, token)
    watched[descriptor] = Watch(interest: interest, token: token)
  }

  func unwatch(_ descriptor: CInt) {
    if isForked { leaveParent() }
    watched[descriptor] = nil
    guard let epoll = kernel?.epoll.number else { return }
    // The user may have closed it, which took it out already.
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
  }

  func startAfresh() {
    kernel = nil
    try? reopen()
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
    guard deadline != continuousDeadline || !continuousIsSet else { return }
    if isForked { leaveParent() }
    continuousDeadline = deadline
    setTimer()
  }

  private func setTimer() {
    do {
      try kernel?.setTimer(continuousDeadline)
      continuousIsSet = kernel != nil
    } catch {
      // No descriptor is left for the kernel's timer: waits are cut short instead.
      continuousIsSet = false
    }
  }

  // MARK: Waiting

  func wait(until deadline: Int64, into ready: inout [ReadyEvent]) {
    if isForked { leaveParent() }
    var deadline = deadline
    if continuousDeadline != .max, !continuousIsSet {
      deadline = min(deadline, now.addingClamped(continuousDeadline.addingClamped(-continuousNow)))
    }
    guard let epoll = kernel?.epoll.number else { return waitOnFutex(until: deadline) }
    var count = waitOnce(epoll, until: deadline)
    // A signal handler that wants the loop awake says so by a wake().
    while count == -EINTR { count = waitOnce(epoll, until: deadline) }
    precondition(
      count >= 0,
      "the loop can wait no more, for its epoll was closed: close only descriptors that are yours")
    for index in 0..<count {
      let (token, bits) = events[index]
      guard token < EpollPoller.clockToken else { continue }
      ready.append(ReadyEvent(token: token, readiness: Loop.Readiness(epollBits: bits)))
    }
  }

  /// Named plainly so that a profile shows it: here, and only here, the thread sleeps.
  private func waitOnce(_ epoll: CInt, until deadline: Int64) -> Int {
    // The plain call is 80 ns cheaper and does for "at once" and "no limit".
    if deadline == .min { return waitCoarsely(epoll, milliseconds: 0) }
    if deadline == .max { return waitCoarsely(epoll, milliseconds: -1) }
    let left = deadline.addingClamped(-now)
    if left <= 0 { return waitCoarsely(epoll, milliseconds: 0) }
    takeSlack()
    if EpollPoller.hasFineWait.load(ordering: .relaxed) {
      let result = unsafe lull_epoll_wait_ns(epoll, events.start, Int32(EpollPoller.capacity), left)
      // Before Linux 5.11 there is none; container runtimes of that time refuse what they do not
      // know with EPERM (moby/moby#42680, fixed in Docker 20.10.10).
      if result != -ENOSYS, result != -EPERM { return Int(result) }
      EpollPoller.hasFineWait.store(false, ordering: .relaxed)
    }
    // Whole milliseconds, rounded up lest the last one be spent spinning.
    let (milliseconds, rest) = left.quotientAndRemainder(dividingBy: 1_000_000)
    return waitCoarsely(
      epoll, milliseconds: Int32(clamping: milliseconds.addingClamped(rest > 0 ? 1 : 0)))
  }

  private func waitCoarsely(_ epoll: CInt, milliseconds: Int32) -> Int {
    let count = unsafe epoll_wait(
      epoll, events.start, Int32(EpollPoller.capacity), milliseconds)
    return count < 0 ? -Int(errno) : Int(count)
  }

  private func waitOnFutex(until deadline: Int64) {
    while word.exchange(0, ordering: .sequentiallyConsistent) == 0 {
      let left = deadline == .max ? nil : Optional(deadline.addingClamped(-now))
      if let left, left <= 0 { break }
      takeSlack()
      futexWait(word, while: 0, nanoseconds: left)
    }
  }

  func wake() {
    // In a child made by fork the loop is awake, or will wake itself when it leaves the parent's
    // descriptors; nobody else sleeps there.
    if isForked { return }
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

  @inline(__always)
  private var isForked: Bool { generation.load(ordering: .relaxed) != lull_fork_generation() }

  /// A child made by fork shares our descriptors with its parent: what it writes there wakes a
  /// stranger, and what it takes out is out for both. It gets its own, with everything we watch.
  private func leaveParent() {
    kernel = nil
    // That queue is the parent's: reading its eventfd would take the parent's wake-up away.
    watched = watched.filter { !lull_is_main_queue_descriptor($0.key) }
    try? reopen()
    generation.store(lull_fork_generation(), ordering: .releasing)
    // What came while there was nothing to wake by.
    wake()
  }

  private func reopen() throws(SystemError) {
    epoll.store(-1, ordering: .releasing)
    eventfd.store(-1, ordering: .releasing)
    let made = try Kernel()
    kernel = made
    for (descriptor, watch) in watched {
      do {
        try control(
          made.epoll.number, EPOLL_CTL_ADD, descriptor, watch.interest.epollBits, watch.token)
      } catch {
        watched[descriptor] = nil  // Closed by its user, who has not said so yet.
      }
    }
    setTimer()
    epoll.store(made.epoll.number, ordering: .releasing)
    eventfd.store(made.eventfd.number, ordering: .releasing)
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
    // Then neither a read nor a write would block, and who asked for one of them may look for that.
    if !isEmpty, !isDisjoint(with: .alwaysReported) { formUnion([.readable, .writable]) }
  }
}
