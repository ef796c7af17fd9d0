// SPDX-License-Identifier: Apache-2.0

/// The timers of a loop: how they come and go, and their queues.
extension Loop {
  /// Adds a timer to `mode`, or to every common mode. Adding it again changes nothing.
  ///
  /// It first fires in the next pass of the mode, even when its date has passed.
  ///
  /// > Threads: any. A sleeping loop wakes if it must.
  ///
  /// - Complexity: O(log *n*) in the timers of the same modes.
  /// - Precondition: no other loop has it. An invalid timer is not added.
  public func add(_ timer: Timer, to mode: Mode = .default) {
    guard isCurrent, !hasMail, takes(timer, into: mode) else { return addItem(timer, to: mode) }
    wakeIfSleeping()
  }

  /// Takes a timer that is in no mode into one that has had items, as happens all the time: the
  /// same as ``addItem(_:to:)``, a sixth faster. False if it takes more than that.
  @inline(__always)
  private func takes(_ timer: Timer, into mode: Mode) -> Bool {
    guard let index = state.value.modes.existing(mode), !state.value.isOver else { return false }
    let alone = state.value.modes[index].alone
    guard alone > 0, timer.slot < 0, !timer.isFiring, fits(timer),
      timer.claim(for: self) == .granted
    else { return false }
    timer.membership.sequence = state.value.nextSequence()
    timer.membership.modes = alone
    state.value.modes[index].items += 1
    state.value.timers.adopt(timer)
    queue(timer)
    return true
  }

  /// Moves a timer from the queue of the modes it was in to that of those it is in. A firing one is
  /// queued when its handler returns.
  @inline(__always)
  func requeue(_ timer: Timer, from former: ModeTable.SetID) {
    guard !timer.isFiring else { return }
    state.value.timers.remove(timer, from: TimerQueues.Key(modes: former, base: timer.base))
    queue(timer)
  }

  @inline(__always)
  func queue(_ timer: Timer) {
    if timer.membership.modes != 0 { state.value.timers.insert(timer, into: key(of: timer)) }
  }

  @inline(__always)
  func key(of timer: Timer) -> TimerQueues.Key {
    TimerQueues.Key(modes: timer.membership.modes, base: timer.base)
  }

  /// A timer has a new date, or has come here from its handler on another loop.
  func rearm(_ timer: Timer) {
    guard timer.belongs(to: self), timer.slot >= 0 else { return }
    requeue(timer, from: timer.membership.modes)
  }

  /// One of the loop's own timers gets a new date on the loop's thread.
  func rearm(_ timer: Timer, for date: Int64) {
    let former = timer.due
    timer.set(date, deadline: Timer.deadline(of: date, on: timer.base))
    state.value.timers.rearm(timer, from: former, in: key(of: timer))
    wakeIfSleeping()
  }

  /// How many queues a mode serves. The list grows as queues come into being.
  @inline(__always)
  func timerQueueCount(of mode: ModeTable.Index) -> Int {
    if state.value.modes[mode].knownQueues < state.value.timers.queueCount { findQueues(of: mode) }
    return state.value.modes[mode].timerQueues.count
  }

  private func findQueues(of mode: ModeTable.Index) {
    for queue in state.value.modes[mode].knownQueues..<state.value.timers.queueCount {
      let key = state.value.timers.key(of: Int32(queue))
      if state.value.modes.contains(mode, in: key.modes) {
        state.value.modes[mode].timerQueues.append(Int32(queue))
      }
    }
    state.value.modes[mode].knownQueues = state.value.timers.queueCount
  }
}
