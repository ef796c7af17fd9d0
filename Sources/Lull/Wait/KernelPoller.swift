// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc
internal import Synchronization

/// Waits in the kernel: on a set of descriptors, or on a futex where none can be had, so that a
/// loop always runs; it tries again when a descriptor is to be watched.
final class KernelPoller: Poller, @unchecked Sendable {  // loop's thread, but for the atomics
  /// The back end asked for; nil for the best there is.
  private let backEnd: BackEnd?
  /// None while the loop waits on the futex.
  private var set: (any DescriptorSet)? {
    get { box.value.set }
    set {
      box.value.set = newValue
      box.value.epollSet = Unretained(newValue as? EpollSet)
    }
  }
  /// What a wake() writes to.
  private var ownEventfd: Eventfd?
  private var turns: TurnDescriptor?
  /// The deadline of a guest, whether anybody has asked for its descriptor yet or not.
  private var armed = Int64.max
  private let box = Box(Hot())

  /// What each wait looks at.
  struct Hot: ~Copyable {
    var set: (any DescriptorSet)?
    /// The set, when it is of the usual kind: the way without a table and counted references.
    var epollSet = Unretained<EpollSet>(nil)
    var watched = WatchList()
    var continuousDeadline = Int64.max
    /// Whether the kernel's timer is set to it. There may have been no descriptor for one.
    var continuousIsSet = true
    var ownSlack: UInt64?
  }

  /// The set's epoll and the eventfd, for the calls that come from any thread; -1 without.
  private let epoll = Atomic<CInt>(-1)
  private let eventfd = Atomic<CInt>(-1)
  /// What the futex sleeps on; 1 is a wake not yet seen.
  private let word = Atomic<UInt32>(0)
  /// Whose descriptors these are: a child made by fork must not touch its parent's.
  private let generation = Atomic<UInt32>(lull_fork_generation())

  private final class Eventfd {
    private let own: OwnedDescriptor
    init() throws(SystemError) {
      own = try OwnedDescriptor("eventfd") { CLull.eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }
    }
    var number: CInt { own.number }
  }

  init(_ backEnd: BackEnd? = .forced) {
    self.backEnd = backEnd
    try? open()
  }

  // MARK: Clocks

  var now: Int64 { readClock(CLOCK_MONOTONIC) }
  var coarseNow: Int64 { readClock(CLOCK_MONOTONIC_COARSE) }
  var continuousNow: Int64 { readClock(CLOCK_BOOTTIME) }

  var preemptions: Int { Lull.preemptions() }

  // MARK: Descriptors

  func prepare(_ descriptor: CInt) throws(SystemError) {
    if isForked || eventfd.load(ordering: .acquiring) < 0 {
      // The loop's thread will open a set too: here is the last chance to say that it cannot.
      let eventfd = try makeEventfd()
      let trial = try makeSet(eventfd.number)
      defer { extendLifetime((eventfd, trial)) }
      return try trial.probe(descriptor)
    }
    let epoll = epoll.load(ordering: .acquiring)
    if epoll < 0 { return try PollSet.probe(descriptor) }
    try EpollSet.probe(descriptor, in: epoll)
  }

  func watch(_ descriptor: CInt, for interest: Loop.Readiness, token: UInt64) throws(SystemError) {
    guard !interest.isEmpty else { return unwatch(descriptor) }
    if isForked { leaveParent() }
    try open()
    try set?.insert(
      descriptor, for: interest, token: token,
      isNew: box.value.watched.interest(in: descriptor).isEmpty)
    box.value.watched.insert(descriptor, for: interest, token: token)
  }

  func unwatch(_ descriptor: CInt) {
    if isForked { leaveParent() }
    box.value.watched.remove(descriptor)
    set?.remove(descriptor)
  }

  func startAfresh() {
    guard let set, (try? set.renew()) != nil else { return }
    insertAll()
    try? turns?.carry(set.epoll)
  }

  func setContinuousDeadline(_ deadline: Int64) {
    guard deadline != box.value.continuousDeadline || !box.value.continuousIsSet else { return }
    if isForked { leaveParent() }
    box.value.continuousDeadline = deadline
    setTimer()
  }

  private func setTimer() {
    do {
      try set?.setTimer(box.value.continuousDeadline)
      box.value.continuousIsSet = set != nil
    } catch {
      // No descriptor is left for the kernel's timer: waits are cut short instead.
      box.value.continuousIsSet = false
    }
  }

  // MARK: The set

  /// Sees to it that there is a set.
  private func open() throws(SystemError) {
    guard set == nil else { return }
    let made = try makeEventfd()
    set = try makeSet(made.number)
    ownEventfd = made
    insertAll()
    setTimer()
    epoll.store(set!.epoll, ordering: .releasing)
    eventfd.store(made.number, ordering: .sequentiallyConsistent)
    // Whoever could not see it yet has left word.
    if word.exchange(0, ordering: .sequentiallyConsistent) != 0 { write(to: made.number) }
  }

  private func makeEventfd() throws(SystemError) -> Eventfd {
    guard backEnd != .futex else { throw SystemError(code: ENOSYS, call: "eventfd") }
    return try Eventfd()
  }

  private func makeSet(_ eventfd: CInt) throws(SystemError) -> any DescriptorSet {
    if backEnd == .poll { return PollSet(eventfd: eventfd) }
    do {
      return try EpollSet(eventfd: eventfd)
    } catch {
      // Without room for an epoll there will be room later; without epoll there is poll(2).
      guard backEnd == nil, error.kind != .exhausted else { throw error }
      return PollSet(eventfd: eventfd)
    }
  }

  private func insertAll() {
    for descriptor in 0..<box.value.watched.end {
      let interest = box.value.watched.interest(in: descriptor)
      if interest.isEmpty { continue }
      let token = box.value.watched.token(of: descriptor)
      do {
        try set?.insert(descriptor, for: interest, token: token, isNew: true)
      } catch {
        box.value.watched.remove(descriptor)  // Closed by its user, who has not said so yet.
      }
    }
  }

  // MARK: Waiting

  func wait(until deadline: Int64, into ready: inout [ReadyEvent]) {
    if isForked { leaveParent() }
    let deadline = min(deadline, substituteDeadline)
    // A signal handler that wants the loop awake says so by a wake().
    let isDone: Void? = box.value.epollSet.with {
      while !$0.wait(nanoseconds: nanoseconds(until: deadline), into: &ready) {}
    }
    if isDone != nil { return }
    guard let set else { return waitOnFutex(until: deadline) }
    while !set.wait(nanoseconds: nanoseconds(until: deadline), into: &ready) {}
  }

  /// When to look at the clock that counts suspend, where the kernel has no timer for it.
  @inline(__always)
  private var substituteDeadline: Int64 {
    guard box.value.continuousDeadline != .max, !box.value.continuousIsSet else { return .max }
    return now.addingClamped(box.value.continuousDeadline.addingClamped(-continuousNow))
  }

  private func nanoseconds(until deadline: Int64) -> Int64? {
    if deadline == .min { return 0 }
    if deadline == .max { return nil }
    let left = deadline.addingClamped(-now)
    if left > 0 { takeSlack() }
    return max(left, 0)
  }

  private func waitOnFutex(until deadline: Int64) {
    while word.exchange(0, ordering: .sequentiallyConsistent) == 0 {
      let left = nanoseconds(until: deadline)
      if left == 0 { break }
      futexWait(word, while: 0, nanoseconds: left)
    }
  }

  func wake() {
    // In a child made by fork the loop is awake, or will wake itself when it leaves the parent's
    // descriptors; nobody else sleeps there.
    if isForked { return }
    var descriptor = eventfd.load(ordering: .acquiring)
    if descriptor < 0 {
      word.store(1, ordering: .sequentiallyConsistent)
      futexWake(word)
      // A guest gets its descriptors while it sleeps.
      descriptor = eventfd.load(ordering: .sequentiallyConsistent)
    }
    if descriptor >= 0 { write(to: descriptor) }
  }

  private func write(to eventfd: CInt) {
    let saved = errno  // We may be in a signal handler.
    // It may be full, and is readable then.
    precondition(
      eventfd_write(eventfd, 1) == 0 || errno == EAGAIN,
      "the loop can be woken no more, for its eventfd was closed: "
        + "close only descriptors that are yours")
    errno = saved
  }

  // MARK: As a guest

  func turnDescriptor() throws(SystemError) -> CInt {
    if isForked { leaveParent() }
    try open()
    if let turns { return turns.number }
    guard let epoll = set?.epoll, epoll >= 0 else {
      throw SystemError(code: ENOSYS, call: "epoll_create1")
    }
    let made = try TurnDescriptor()
    try made.carry(epoll)
    made.arm(until: armed)
    turns = made
    return made.number
  }

  func arm(until deadline: Int64) {
    if isForked { leaveParent() }
    armed = min(deadline, substituteDeadline)
    turns?.arm(until: armed)
  }

  // MARK: The thread and the process

  func runEnds() {
    guard let slack = box.value.ownSlack else { return }
    box.value.ownSlack = nil
    _ = lull_exchange_timer_slack(slack)
  }

  /// Waits end within a nanosecond of the deadline instead of the thread's usual 50 microseconds.
  private func takeSlack() {
    if box.value.ownSlack == nil { box.value.ownSlack = lull_exchange_timer_slack(1) }
  }

  @inline(__always)
  private var isForked: Bool { generation.load(ordering: .relaxed) != lull_fork_generation() }

  /// A child made by fork shares our descriptors with its parent: what it writes there wakes a
  /// stranger, and what it takes out is out for both. It gets its own, with everything we watch.
  private func leaveParent() {
    (set, turns, ownEventfd) = (nil, nil, nil)
    epoll.store(-1, ordering: .releasing)
    eventfd.store(-1, ordering: .releasing)
    // That queue is the parent's: reading its eventfd would take the parent's wake-up away.
    for descriptor in 0..<box.value.watched.end where lull_is_main_queue_descriptor(descriptor) {
      box.value.watched.remove(descriptor)
    }
    try? open()
    generation.store(lull_fork_generation(), ordering: .releasing)
    // What came while there was nothing to wake by.
    wake()
  }
}
