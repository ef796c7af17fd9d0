// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Synchronization

/// Ways to be there sooner than a sleep allows, at the price of processor time. Off unless chosen.
extension Loop {
  /// Whether the loop may spin for some microseconds before it sleeps, to hear of a post at once.
  /// False at first.
  ///
  /// It does so only where its sleeps have been short of late, and stops where spinning was in
  /// vain: two threads that answer each other, each on a processor of its own, gain much; a loop
  /// that is posted to now and then loses nothing. Descriptors and timers are not waited for in
  /// this way.
  ///
  /// - Precondition: on the loop's thread.
  public var spinsBeforeSleep: Bool {
    get {
      preconditionOnLoop()
      return state.value.spin != nil
    }
    set {
      preconditionOnLoop()
      guard newValue != (state.value.spin != nil) else { return }
      state.value.spin = newValue ? SpinPolicy() : nil
    }
  }

  /// How long before the date of a timer the loop wakes, to look at the clock until it has come.
  /// Zero at first.
  ///
  /// The kernel wakes a thread some 50 to 100 microseconds late, and more where the processor
  /// rests deeply; a lead of 200 microseconds brings most ticks within a few of their date, for
  /// that much processor time a tick. Descriptors are served meanwhile. A guest's timers are its
  /// host's to keep.
  ///
  /// - Precondition: on the loop's thread.
  public var timerLead: Duration {
    get {
      preconditionOnLoop()
      return .nanoseconds(state.value.timerLead)
    }
    set {
      preconditionOnLoop()
      state.value.timerLead = max(0, newValue.wholeNanoseconds)
      if state.value.timerLead > 0 { prepareRehearsal() }
    }
  }

  /// Waits in the kernel, or beside it, until `deadline`.
  @inline(__always)
  func sleep(until deadline: Int64, in mode: ModeTable.Index, into ready: inout [ReadyEvent]) {
    if state.value.spin == nil, state.value.timerLead == 0 {
      poller.wait(until: deadline, into: &ready)
    } else {
      sleepEagerly(until: deadline, in: mode, into: &ready)
    }
  }

  private func sleepEagerly(
    until deadline: Int64, in mode: ModeTable.Index, into ready: inout [ReadyEvent]
  ) {
    let began = poller.now
    let lead = deadline == nextWake(in: mode) && !isVirtual ? state.value.timerLead : 0
    if lead == 0 || deadline == .max || began < deadline.addingClamped(-lead) {
      poller.wait(until: deadline == .max ? .max : deadline.addingClamped(-lead), into: &ready)
      state.value.spin?.slept(
        for: poller.now - began, wokenByPost: !sleeping.load(ordering: .acquiring))
    }
    // Whatever else ended the wait is seen to by a pass.
    guard lead > 0, deadline != .max, poller.now >= deadline.addingClamped(-lead) else { return }
    if deadline.addingClamped(-poller.now) > Loop.rehearsalTakes { rehearse(for: mode) }
    let continuous = nextContinuousWake(in: mode)
    while ready.isEmpty, sleeping.load(ordering: .acquiring), poller.now < deadline {
      // Asking the kernel takes the report of that clock's timer away.
      if continuous != .max, poller.continuousNow >= continuous { return }
      poller.wait(until: .min, into: &ready)
    }
  }

  // MARK: The rehearsal

  /// How long it may take at most, by far.
  private static let rehearsalTakes: Int64 = 50_000

  /// Fires a timer that nobody hears of, and looks at those to come. What has not been touched for
  /// some milliseconds has left the processor's caches: the first timer after a sleep takes ten
  /// microseconds, the next takes one.
  private func rehearse(for mode: ModeTable.Index) {
    var trace: (any TraceSink)?
    swap(&trace, &state.value.trace)
    let admission = idleState.value.admission
    fireTimers(in: state.value.modes.index(of: .rehearsal))
    touchFirstTimers(in: mode)
    idleState.value.admission = admission
    swap(&trace, &state.value.trace)
  }

  /// Looks at the timers to come as if they were due.
  private func touchFirstTimers(in mode: ModeTable.Index) {
    var found: [TimerQueues.Due] = []
    swap(&found, &state.value.spareFound)
    for place in 0..<timerQueueCount(of: mode) {
      let queue = state.value.modes[mode].timerQueues[place]
      state.value.timers.collectFirst(from: queue, into: &found)
    }
    for entry in found {
      entry.timer.with { timer in
        if timer.isValid, timer.belongs(to: self) { extendLifetime(timer.handler) }
      }
    }
    found.removeAll(keepingCapacity: true)
    swap(&found, &state.value.spareFound)
  }

  /// Has a timer in a mode that nobody can see or run.
  private func prepareRehearsal() {
    guard !isVirtual, state.value.modes.existing(.rehearsal) == nil else { return }
    let timer = Timer(at: now, every: .nanoseconds(1)) { _ in }
    guard case .granted = timer.claim(for: self) else { return }
    timer.enters(self)
    timer.membership.modes = state.value.modes.adding(
      state.value.modes.index(of: .rehearsal), to: timer.membership.modes)
    queue(timer)
  }

  // MARK: Spinning

  /// Spins for a while if that is likely to spare a sleep.
  @inline(__always)
  func spin(_ pass: Pass) {
    if state.value.spin != nil, !isVirtual { spinForPosts(pass) }
  }

  private func spinForPosts(_ pass: Pass) {
    guard !mustNotSleep(pass), state.value.spin?.maySpin() == true else { return }
    let longest = poller.now.addingClamped(SpinPolicy.longest)
    let end = min(longest, pass.run.limit, pass.idleWish, nextWake(in: pass.run.mode))
    repeat {
      for _ in 0..<16 {
        if mail.isPending || wakes.load(ordering: .relaxed) != pass.seen || isStopped(pass.run) {
          state.value.spin?.spun(inVain: false)
          return
        }
        lull_pause()
      }
    } while poller.now < end
    if end == longest { state.value.spin?.spun(inVain: true) }
  }
}
