// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc
internal import Synchronization

/// What a pass serves after its wait: due timers, then ready descriptors, then the main queue.
extension Loop {
  /// Serves what is due and ready; true if a source was handled.
  ///
  /// A timer that comes due meanwhile goes ahead of the next descriptor. `ready` is what the kernel
  /// said when there had been `runs` runs; a nested run since has served it, and the kernel will
  /// report again what is still ready.
  @inline(__always)
  func serve(_ run: Activation, _ ready: [ReadyEvent], asOf runs: Int) -> Bool {
    fireTimers(in: run.mode)
    return ready.isEmpty ? false : deliver(run, ready, asOf: runs)
  }

  private func deliver(_ run: Activation, _ ready: [ReadyEvent], asOf runs: Int) -> Bool {
    var handled = false
    var mainQueueIsReady = false
    for event in ready {
      guard let slot = state.value.descriptors.slot(ofToken: event.token) else { continue }
      if state.value.descriptors[slot].isMainQueue { mainQueueIsReady = true }
      for source in state.value.descriptors.takers(of: slot) {
        if handled { fireTimers(in: run.mode) }
        guard state.value.runs == runs else { return handled }
        guard deliver(event, to: source, in: run.mode) else { continue }
        handled = true
        if hasIdleWork { idle.eventServed(at: poller.now) }
        if run.returnsAfterSource { return true }
      }
    }
    if mainQueueIsReady {
      if handled { fireTimers(in: run.mode) }
      guard state.value.runs == runs else { return handled }
      if drainMainQueue(in: run.mode) { handled = true }
    }
    return handled
  }

  private func deliver(
    _ event: ReadyEvent, to source: DescriptorSource, in mode: ModeTable.Index
  ) -> Bool {
    let wanted = source.wanted(of: event.readiness)
    guard !wanted.isEmpty, source.isValid, source.belongs(to: self),
      state.value.modes.contains(mode, in: source.membership.modes), let handler = source.handler
    else { return false }
    call(.descriptor(source, wanted)) { handler(source, wanted) }
    return true
  }

  // MARK: Timers

  /// Fires the timers of the mode that are due now, each once, in the order of their dates.
  @inline(__always)
  func fireTimers(in mode: ModeTable.Index) {
    if timerQueueCount(of: mode) > 0 { fireDueTimers(in: mode) }
  }

  private func fireDueTimers(in mode: ModeTable.Index) {
    let latest = state.value.timers.latestArming
    var moment: Int64?
    while let next = fireDueTimers(in: mode, at: moment, armedBy: latest) { moment = next }
  }

  /// Fires what is due at `moment`, or now if that is nil; of very many the first.
  ///
  /// - Returns: That moment, if there may be more; else nil.
  private func fireDueTimers(
    in mode: ModeTable.Index, at moment: Int64?, armedBy arming: UInt32
  ) -> Int64? {
    var due: [DueTimer] = []
    let rest = collectDueTimers(in: mode, at: moment, armedBy: arming, into: &due)
    guard !due.isEmpty else { return nil }
    for entry in due {
      entry.timer.with { fire($0, entry, in: mode) }
      entry.timer.release()
    }
    due.removeAll(keepingCapacity: true)
    swap(&due, &state.value.spareDue)
    return rest
  }

  /// Whether it is due as it was when it was found, or at another date that has come.
  @inline(__always)
  private func isStillDue(_ timer: Timer, _ due: DueTimer) -> Bool {
    timer.due == due.ownDeadline || timer.due <= now(on: timer.base)
  }

  private func fire(_ timer: Timer, _ due: DueTimer, in mode: ModeTable.Index) {
    // An earlier callout may have given it to another loop, put it off, or taken it out of the
    // mode; taken out and added again, it is due as before.
    guard timer.isValid, timer.belongs(to: self), !timer.isFiring, isStillDue(timer, due),
      state.value.modes.contains(mode, in: timer.membership.modes), let handler = timer.handler
    else { return }
    // One that is due in a moment waits for that, as the last thing before its handler.
    let isEager = isEager
    let began = hasIdleWork || isEager ? max(poller.now, due.deadline) : due.now
    idle.serves(timer, due: due.deadline, at: began)
    let served = timer.due
    state.value.timers.remove(timer, from: key(of: timer))
    timer.isFiring = true
    state.value.firing.append(Unretained(timer))
    if isEager { awaitDate(of: due) }
    call(.timer(timer)) { handler(timer) }
    _ = state.value.firing.removeLast()
    if timer.intervalNanoseconds == 0 { timer.invalidate() }
    guard timer.isValid else { return }
    // A later date set meanwhile is honoured; otherwise the grid goes on.
    let date = timer.date.load(ordering: .acquiring)
    let deadline = timer.due
    if deadline <= served {
      let next = timer.gridDate(after: now(on: timer.base))
      // Exchanged, not stored: another thread may be setting it right now.
      if timer.deadline.compareExchange(expected: deadline, desired: next, ordering: .relaxed)
        .exchanged
      {
        _ = timer.date.compareExchange(expected: date, desired: next, ordering: .relaxed)
      }
    }
    timer.isFiring = false
    if timer.belongs(to: self) {
      queue(timer)
    } else {
      // The loop that its handler gave it to has left it unqueued until now.
      timer.owner?.submit(.rearm(timer))
    }
  }

  private func collectDueTimers(
    in mode: ModeTable.Index, at moment: Int64?, armedBy arming: UInt32,
    into due: inout [DueTimer]
  ) -> Int64? {
    var suspending = moment
    var ahead: Int64?
    var end = Int64.max
    for place in 0..<timerQueueCount(of: mode) {
      let queue = state.value.modes[mode].timerQueues[place]
      guard let first = state.value.timers.firstDeadline(of: queue) else { continue }
      // How far the timer's clock is ahead of the loop's: by all suspends of this boot, or not.
      let now = suspending ?? takePresent()
      suspending = now
      var offset: Int64 = 0
      if state.value.timers.key(of: queue).base == .continuous {
        ahead = ahead ?? suspended()
        offset = ahead!
      }
      guard first <= now + offset else { continue }
      if due.isEmpty { swap(&due, &state.value.spareDue) }
      var found: [TimerQueues.Due] = []
      swap(&found, &state.value.spareFound)
      let last = state.value.timers.collectDue(
        at: now + offset, armedBy: arming, from: queue, into: &found)
      end = min(end, last - offset)
      for entry in found {
        entry.timer.with { timer in
          entry.timer.retain()
          due.append(
            DueTimer(
              timer: entry.timer, sequence: timer.membership.sequence,
              deadline: entry.deadline - offset, ownDeadline: entry.deadline, now: now))
        }
      }
      found.removeAll(keepingCapacity: true)
      swap(&found, &state.value.spareFound)
    }
    if due.count > 1 {
      due.sort {
        $0.deadline != $1.deadline ? $0.deadline < $1.deadline : $0.sequence < $1.sequence
      }
    }
    guard let suspending, end < suspending else { return nil }
    // Of another queue there may be later ones, whose turn is after those to come.
    while due[due.count - 1].deadline > end { due.removeLast().timer.release() }
    return suspending
  }

  /// How far the clock that counts suspend is ahead of the other. The two cannot be read at once:
  /// where the thread had to wait between the reads, they are read again.
  private func suspended() -> Int64 {
    var ahead = Int64.max
    var before = poller.now
    for _ in 0..<4 {
      let continuous = poller.continuousNow
      let after = poller.now
      ahead = min(ahead, continuous - before)
      guard after - before > 20_000 else { break }
      before = after
    }
    return ahead
  }

  /// When the loop must wake for the timers of the mode; `Int64.max` if for none.
  func nextWake(in mode: ModeTable.Index) -> Int64 { nextWake(in: mode, on: .suspending) }

  /// The same for the clock that counts suspend.
  func nextContinuousWake(in mode: ModeTable.Index) -> Int64 { nextWake(in: mode, on: .continuous) }

  /// When the first timer of the mode is due, tolerance aside: idle work must not run into it.
  @inline(__always)
  func earliestDeadline(in mode: ModeTable.Index) -> Int64 {
    timerQueueCount(of: mode) == 0 ? .max : findEarliestDeadline(in: mode)
  }

  private func findEarliestDeadline(in mode: ModeTable.Index) -> Int64 {
    var earliest = Int64.max
    for place in 0..<timerQueueCount(of: mode) {
      let queue = state.value.modes[mode].timerQueues[place]
      guard let deadline = state.value.timers.firstDeadline(of: queue) else { continue }
      let isSuspending = state.value.timers.key(of: queue).base == .suspending
      earliest = min(
        earliest,
        isSuspending ? deadline : poller.now.addingClamped(deadline - poller.continuousNow))
    }
    return earliest
  }

  private func nextWake(in mode: ModeTable.Index, on base: TimeBase) -> Int64 {
    var earliest = Int64.max
    for place in 0..<timerQueueCount(of: mode) {
      let queue = state.value.modes[mode].timerQueues[place]
      guard state.value.timers.key(of: queue).base == base else { continue }
      if let wake = state.value.timers.latestWake(of: queue) { earliest = min(earliest, wake) }
    }
    return earliest
  }

  // MARK: The dispatch main queue

  /// Watches libdispatch's main queue in the common modes, from the first run of the main loop on.
  func watchMainQueue() {
    guard !state.value.watchesMainQueue else { return }
    let descriptor = lull_main_queue_descriptor()
    guard descriptor >= 0 else { return }
    let slot = state.value.descriptors.slot(of: descriptor)
    state.value.descriptors[slot].isMainQueue = true
    do {
      try refresh(slot)
      state.value.watchesMainQueue = true
    } catch {
      // No room for a descriptor: the next run tries again.
      state.value.descriptors.remove(slot)
    }
  }

  func drainMainQueue(in mode: ModeTable.Index) -> Bool {
    guard state.value.modes[mode].isCommon, !state.value.isDrainingMainQueue else { return false }
    // Read first: left readable, it would end every later wait at once.
    var count: UInt64 = 0
    unsafe read(lull_main_queue_descriptor(), &count, 8)
    state.value.isDrainingMainQueue = true
    call(.mainQueue) { lull_drain_main_queue() }
    state.value.isDrainingMainQueue = false
    // A nested run may have narrowed it to nothing, for it could not drain it.
    widen()
    return true
  }
}
