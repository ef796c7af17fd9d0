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
  /// rests deeply; a lead of 200 microseconds brings most ticks within a few of their date, half of
  /// them within one or two, for that much processor time a tick. Descriptors are served meanwhile,
  /// but for the last 20. A guest's timers are its host's to keep.
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
    let continuous = nextContinuousWake(in: mode)
    let lastMoment = deadline.addingClamped(-Loop.lastMoment)
    while ready.isEmpty, sleeping.load(ordering: .acquiring), poller.now < lastMoment {
      // Asking the kernel takes the report of that clock's timer away.
      if continuous != .max, poller.continuousNow >= continuous { return }
      poller.wait(until: .min, into: &ready)
    }
    if ready.isEmpty, sleeping.load(ordering: .acquiring) { state.value.awaitedDate = deadline }
  }

  // MARK: The last moment

  /// What comes between the end of a wait and a timer's handler, in nanoseconds: some microseconds
  /// after a sleep in which everything has left the processor's caches.
  private static let lastMoment: Int64 = 20_000

  /// Whether it looks at the clock until timers' dates have come.
  @inline(__always)
  var isEager: Bool { state.value.timerLead > 0 && !isVirtual }

  /// Now, for timers that are to be served; the date of one that is due in a moment, for which the
  /// wait has ended so that nothing but its handler comes after it.
  @inline(__always)
  func takePresent() -> Int64 {
    guard isEager else { return poller.now }
    defer { state.value.awaitedDate = .min }
    return max(poller.now, state.value.awaitedDate)
  }

  /// Looks at the clock until a timer's date has come.
  @inline(__always)
  func awaitDate(of due: DueTimer) {
    while poller.now < due.deadline { lull_pause() }
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
