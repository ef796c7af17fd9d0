// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lull
internal import Synchronization

/// The back end of a loop on virtual time: waiting moves the clock, to the deadline or to the next
/// step of the script.
final class VirtualPoller: @unchecked Sendable {  // `state` guarded by `lock`
  private let lock = Lock()
  private var state = State()
  private let woken = Atomic<Bool>(false)

  /// The clock's steps: it reads the last one, and waits end with one, as without fine timers.
  private let granularity: Int64

  init(granularity: Int64 = 1) {
    precondition(granularity > 0, "a clock needs steps above zero to get on")
    self.granularity = granularity
  }

  private struct State {
    /// What passed, whatever the clock reads.
    var now: Int64 = 0
    var suspended: Int64 = 0
    var continuousDeadline = Int64.max
    /// When a guest wants a turn.
    var armed = Int64.max
    var script: [Step] = []
    var steps = 0
    var ready: [CInt: Loop.Readiness] = [:]
    var watched: [CInt: (interest: Loop.Readiness, token: UInt64)] = [:]
    var waits = 0
    var sleeps = 0
    var preemptions = 0
  }

  private struct Step {
    let at: Int64
    let number: Int
    let action: @Sendable () -> Void
  }

  /// What to do when nothing will ever end a wait: it has to wake the loop.
  var asleepForEver: () -> Void = {
    preconditionFailure(
      "the loop sleeps for ever: nothing is scripted that could wake it, and the run has no limit")
  }

  /// Lets go of the closures of a test that is over.
  func forget() {
    asleepForEver = {}
    let script = lock.withLock { () -> [Step] in
      defer { state.script = [] }
      return state.script
    }
    _ = script
  }

  // MARK: For tests

  var elapsed: Int64 { lock.withLock { state.now } }

  func advance(to end: Int64) {
    while let step = takeStep(until: end) { act(step) }
    lock.withLock { state.now = max(state.now, end) }
  }

  func suspend(for nanoseconds: Int64) { lock.withLock { state.suspended += nanoseconds } }

  func preempt() { lock.withLock { state.preemptions += 1 } }

  func script(at time: Int64, _ action: @escaping @Sendable () -> Void) {
    lock.withLock {
      state.steps += 1
      let step = Step(at: time, number: state.steps, action: action)
      let place = state.script.firstIndex { $0.at > time } ?? state.script.count
      state.script.insert(step, at: place)
    }
  }

  /// Higher than a test has many of the kernel's.
  func makeDescriptor() -> CInt {
    lock.withLock {
      let number = CInt(200 + state.ready.count)
      state.ready[number] = []
      return number
    }
  }

  func set(_ readiness: Loop.Readiness, of descriptor: CInt) {
    lock.withLock { state.ready[descriptor] = readiness }
  }

  func readiness(of descriptor: CInt) -> Loop.Readiness {
    lock.withLock { state.ready[descriptor] ?? [] }
  }

  var counts: (waits: Int, sleeps: Int) { lock.withLock { (state.waits, state.sleeps) } }

  /// What is made there, such as a timer, lives on this virtual time too.
  private func act(_ step: Step) {
    onAnotherThread { Loop.$clockOfScript.withValue(self, operation: step.action) }
  }

  private func takeStep(until end: Int64) -> Step? {
    lock.withLock {
      guard let first = state.script.first, first.at <= end else { return nil }
      state.now = max(state.now, first.at)
      return state.script.removeFirst()
    }
  }
}

extension VirtualPoller: Poller {
  var now: Int64 { lock.withLock { state.now } / granularity * granularity }
  var coarseNow: Int64 { now }
  var preemptions: Int { lock.withLock { state.preemptions } }
  var continuousNow: Int64 { now + lock.withLock { state.suspended } }

  func prepare(_ descriptor: CInt) throws(SystemError) {
    let isScripted = lock.withLock { state.ready[descriptor] != nil }
    guard isScripted else { throw SystemError(code: EBADF, call: "virtual descriptor") }
  }

  func watch(
    _ descriptor: CInt, for interest: Loop.Readiness, token: UInt64
  ) throws(SystemError) {
    try prepare(descriptor)
    lock.withLock { state.watched[descriptor] = interest.isEmpty ? nil : (interest, token) }
  }

  func unwatch(_ descriptor: CInt) {
    lock.withLock { state.watched[descriptor] = nil }
  }

  func startAfresh() {}

  func setContinuousDeadline(_ deadline: Int64) {
    lock.withLock { state.continuousDeadline = deadline }
  }

  func wake() { woken.store(true, ordering: .sequentiallyConsistent) }

  /// No descriptor of the kernel's knows virtual time.
  func turnDescriptor() throws(SystemError) -> CInt {
    throw SystemError(code: ENOSYS, call: "virtual epoll")
  }

  func arm(until deadline: Int64) { lock.withLock { state.armed = deadline } }

  func runEnds() {}

  func wait(until deadline: Int64, into ready: inout [ReadyEvent]) {
    lock.withLock { state.waits += 1 }
    sleep(until: deadline, into: &ready)
  }

  private func sleep(until deadline: Int64, into ready: inout [ReadyEvent]) {
    let began = elapsed
    while true {
      collect(into: &ready)
      let isOver = woken.exchange(false, ordering: .sequentiallyConsistent) || !ready.isEmpty
      if isOver || deadline <= now { break }
      let due = lock.withLock { () -> Int64 in
        let continuous =
          state.continuousDeadline == .max ? .max : state.continuousDeadline - state.suspended
        return min(deadline, continuous)
      }
      if due <= now { break }
      let end = nextStep(of: due)
      if let step = takeStep(until: end) {
        act(step)
      } else {
        guard due != .max else {
          asleepForEver()
          continue
        }
        lock.withLock { state.now = max(state.now, end) }
      }
    }
    if elapsed > began { lock.withLock { state.sleeps += 1 } }
  }

  /// The first moment at which the clock reads `time` or more.
  private func nextStep(of time: Int64) -> Int64 {
    guard granularity > 1, time < .max - granularity else { return time }
    return (time + granularity - 1) / granularity * granularity
  }

  /// What a host does for the loop: waits until it wants a turn. The loop asks for itself then,
  /// and that is the one that counts.
  func waitInItsStead() {
    var ready: [ReadyEvent] = []
    sleep(until: lock.withLock { state.armed }, into: &ready)
  }

  private func collect(into ready: inout [ReadyEvent]) {
    let found = lock.withLock {
      state.watched.sorted { $0.key < $1.key }.compactMap { descriptor, watch -> ReadyEvent? in
        let reported = watch.interest.union([.hangUp, .error])
        let readiness = (state.ready[descriptor] ?? []).intersection(reported)
        return readiness.isEmpty ? nil : ReadyEvent(token: watch.token, readiness: readiness)
      }
    }
    ready.append(contentsOf: found)
  }
}
