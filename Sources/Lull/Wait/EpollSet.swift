// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc
internal import Synchronization

/// Descriptors in one epoll.
final class EpollSet: DescriptorSet {
  private let own: OwnedDescriptor
  private let eventfd: CInt
  private var timer: KernelTimer?
  private let events = EventBuffer(capacity: 128)
  /// Whether the kernel, or what guards it, knows epoll_pwait2.
  private static let hasFineWait = Atomic<Bool>(true)

  init(eventfd: CInt) throws(SystemError) {
    own = try OwnedDescriptor("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    self.eventfd = eventfd
    try EpollSet.add(eventfd, OwnToken.wake, to: own.number)
  }

  /// Edge-triggered and never read: each event is one report, and the read is saved.
  private static func add(
    _ descriptor: CInt, _ token: UInt64, to epoll: CInt
  ) throws(SystemError) {
    try control(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue | EPOLLET.rawValue, token)
  }

  func renew() throws(SystemError) {
    let fresh = try OwnedDescriptor("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    try EpollSet.add(eventfd, OwnToken.wake, to: fresh.number)
    if let timer { try EpollSet.add(timer.number, OwnToken.clock, to: fresh.number) }
    // Complete, and under the same number: other threads may be using it.
    try checked("dup3") { dup3(fresh.number, own.number, Int32(EPOLL_CLOEXEC)) }
  }

  var epoll: CInt { own.number }

  func probe(_ descriptor: CInt) throws(SystemError) {
    try EpollSet.probe(descriptor, in: own.number)
  }

  /// The same from any thread.
  static func probe(_ descriptor: CInt, in epoll: CInt) throws(SystemError) {
    do {
      // One-shot and for nothing: whatever it reports comes at most once, under a token nobody has.
      try control(epoll, EPOLL_CTL_ADD, descriptor, EPOLLONESHOT.rawValue, OwnToken.clock)
    } catch  where error.code == EEXIST {
    }
  }

  func insert(
    _ descriptor: CInt, for interest: Loop.Readiness, token: UInt64, isNew: Bool
  ) throws(SystemError) {
    let bits = interest.epollBits
    do {
      try control(isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, bits, token)
    } catch  where error.code == EEXIST {
      try control(EPOLL_CTL_MOD, descriptor, bits, token)
    } catch  where error.code == ENOENT {
      // Closed and opened again behind our back: the number is the same, the file is not.
      try control(EPOLL_CTL_ADD, descriptor, bits, token)
    }
  }

  func remove(_ descriptor: CInt) {
    // The user may have closed it, which took it out already.
    _ = epoll_ctl(own.number, EPOLL_CTL_DEL, descriptor, nil)
  }

  func setTimer(_ deadline: Int64) throws(SystemError) {
    if timer == nil {
      // epoll_pwait2 cannot wait on that clock.
      let made = try KernelTimer(CLOCK_BOOTTIME)
      try EpollSet.add(made.number, OwnToken.clock, to: own.number)
      timer = made
    }
    try timer?.set(deadline)
  }

  func wait(nanoseconds: Int64?, into ready: inout [ReadyEvent]) -> Bool {
    let count = waitOnce(nanoseconds)
    if count == -EINTR { return false }
    precondition(
      count >= 0,
      "the loop can wait no more, for its epoll was closed: close only descriptors that are yours")
    for index in 0..<count {
      let (token, bits) = events[index]
      guard token < OwnToken.first else { continue }
      ready.append(ReadyEvent(token: token, readiness: Loop.Readiness(epollBits: bits)))
    }
    return true
  }

  /// Named plainly so that a profile shows it: here, and only here, the thread sleeps.
  private func waitOnce(_ nanoseconds: Int64?) -> Int {
    // The plain call is 80 ns cheaper and does for "at once" and "no limit".
    guard let nanoseconds else { return waitCoarsely(milliseconds: -1) }
    guard nanoseconds > 0 else {
      return Int(unsafe lull_epoll_look(own.number, events.start, Int32(events.capacity)))
    }
    if EpollSet.hasFineWait.load(ordering: .relaxed) {
      let result = unsafe lull_epoll_wait_ns(
        own.number, events.start, Int32(events.capacity), nanoseconds)
      // Before Linux 5.11 there is none; container runtimes of that time refuse what they do not
      // know with EPERM (moby/moby#42680, fixed in Docker 20.10.10).
      if result != -ENOSYS, result != -EPERM { return Int(result) }
      EpollSet.hasFineWait.store(false, ordering: .relaxed)
    }
    // Whole milliseconds, rounded up lest the last one be spent spinning.
    let (milliseconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return waitCoarsely(
      milliseconds: Int32(clamping: milliseconds.addingClamped(rest > 0 ? 1 : 0)))
  }

  private func waitCoarsely(milliseconds: Int32) -> Int {
    let count = unsafe epoll_wait(
      own.number, events.start, Int32(events.capacity), milliseconds)
    return count < 0 ? -Int(errno) : Int(count)
  }

  private func control(
    _ operation: CInt, _ descriptor: CInt, _ events: UInt32, _ token: UInt64
  ) throws(SystemError) {
    try EpollSet.control(own.number, operation, descriptor, events, token)
  }

  static func control(
    _ epoll: CInt, _ operation: CInt, _ descriptor: CInt, _ events: UInt32, _ token: UInt64
  ) throws(SystemError) {
    var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: token))
    try checked("epoll_ctl") { unsafe epoll_ctl(epoll, operation, descriptor, &event) }
  }
}

/// Room for what one wait reports.
@safe
private final class EventBuffer {
  let start: UnsafeMutablePointer<epoll_event>
  let capacity: Int

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
    self.init(
      readable: bits & EPOLLIN.rawValue != 0, writable: bits & EPOLLOUT.rawValue != 0,
      hangUp: bits & EPOLLHUP.rawValue != 0, error: bits & EPOLLERR.rawValue != 0)
  }

  /// What the kernel says, and what it means.
  init(readable: Bool, writable: Bool, hangUp: Bool, error: Bool) {
    self = []
    if readable { insert(.readable) }
    if writable { insert(.writable) }
    if hangUp { insert(.hangUp) }
    if error { insert(.error) }
    // Then neither a read nor a write would block, and who asked for one of them may look for that.
    if hangUp || error { formUnion([.readable, .writable]) }
  }
}
