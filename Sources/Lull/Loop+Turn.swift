// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A loop as a guest: somebody else's loop has the thread, waits in our stead, and gives us turns.
extension Loop {
  /// What a turn came to.
  public enum TurnResult: Sendable, Hashable {
    /// Nothing is left to do until ``Loop/pollDescriptor`` is readable.
    case waiting
    /// The budget is used up and something is left to do: the descriptor is readable already.
    case moreToDo
    /// ``Loop/stop()`` was called: the guest asks its host to end.
    case stopped
    /// The mode is empty: no source, timer or block in it, and no idle work. Turns may go on.
    case finished
  }

  /// The one descriptor that a host has to watch: readable means that the loop wants a turn.
  ///
  /// Watch it for reading, level-triggered, and never read from it. It is readable while a source,
  /// a block or a ready descriptor waits, from the date of the first timer on, and when idle work
  /// fits; it stays silent, and costs nothing, while there is nothing to do. It is the same for the
  /// loop's life, but for a child made by fork, which has to ask again, and it is the loop's to
  /// close.
  ///
  /// - Throws: ``SystemError`` when no descriptor is left, and `ENOSYS` where there is no epoll.
  ///   Give turns often then, or by ``nextDeadline``.
  /// - Precondition: on the loop's thread.
  public var pollDescriptor: CInt {
    get throws(SystemError) {
      preconditionOnLoop("pollDescriptor")
      let descriptor = try poller.turnDescriptor()
      // A loop that has had no turn yet may have something to do.
      if state.value.stay == nil, state.value.active == 0,
        !sleeping.exchange(true, ordering: .sequentiallyConsistent)
      {
        poller.wake()
      }
      return descriptor
    }
  }

  /// Serves what waits, as a guest of whoever has the thread, and comes back without waiting.
  ///
  /// Turns in the same mode are one run that sleeps between them, with the same order of things:
  /// the first enters it, each begins by calling the observers of ``Activities/afterWaiting`` and
  /// ends, after idle work has had its share, with those of ``Activities/beforeWaiting``. A turn in
  /// another mode leaves the run of the last and enters one of its own: a host that tracks a drag
  /// gives turns in ``Mode/eventTracking`` until the drag ends. ``endTurns()`` leaves the run.
  ///
  /// A callout may start a loop of the host's that gives turns while the turn around it lasts. Such
  /// a turn is a nested run of its own, from entry to exit.
  ///
  /// ```swift
  /// var wanted = pollfd(fd: try loop.pollDescriptor, events: Int16(POLLIN), revents: 0)
  /// while loop.turn() != .stopped { poll(&wanted, 1, -1) }
  /// ```
  ///
  /// - Parameters:
  ///   - mode: The mode to serve; not the common pseudo-mode.
  ///   - budget: After how long the host wants its thread back. Idle work starts no piece that is
  ///     expected to last longer than what is left of it; events are served pass by pass until it
  ///     is over, at least one pass.
  /// - Precondition: on the loop's thread.
  @available(*, noasync, message: "a loop belongs to a thread: give turns from synchronous code")
  @discardableResult
  public func turn(
    in mode: Mode = .default, budget: Duration = .milliseconds(8)
  ) -> TurnResult {
    preconditionOnLoop("turn")
    precondition(
      mode != .common, "a turn is in one mode; name one of the common modes, such as .default")
    let isNested = state.value.active > 0
    let outerTurnEnds = state.value.turnEnds
    state.value.turnEnds = now.advanced(by: max(budget, .zero)).nanoseconds
    state.value.active += 1
    defer {
      state.value.active -= 1
      state.value.turnEnds = outerTurnEnds
    }
    readMail()
    let index = state.value.modes.index(of: mode)
    if !isNested, let stay = state.value.stay, stay.run.mode != index { leave(stay) }
    return isNested ? nestedTurn(in: index) : turn(in: index)
  }

  private func turn(in mode: ModeTable.Index) -> TurnResult {
    var result: RunResult?
    if state.value.stay?.waiting == nil { forgetWakeUps() }
    if state.value.stay == nil { result = enterStay(in: mode) }
    var stay = state.value.stay.take()
    if result == nil, stay != nil { result = advance(&stay!) }
    guard let result else {
      state.value.stay = stay
      return stay!.isHurried ? .moreToDo : .waiting
    }
    if let stay { end(stay.run, result) }
    rest()
    return result == .stopped ? .stopped : .finished
  }

  /// A turn in a callout of another, from a loop of the host's that the callout runs.
  private func nestedTurn(in mode: ModeTable.Index) -> TurnResult {
    let outer = state.value.stay.take()
    defer { state.value.stay = outer }
    var result = enterStay(in: mode)
    guard var stay = state.value.stay.take() else {
      rest()
      return result == .stopped ? .stopped : .finished
    }
    if result == nil { result = advance(&stay) }
    // It stays armed, and asleep to other threads, while the host waits in its inner loop.
    callOffWait(stay)
    end(stay.run, result ?? .timedOut)
    guard let result else { return stay.isHurried ? .moreToDo : .waiting }
    rest()
    return result == .stopped ? .stopped : .finished
  }

  /// Leaves the run that turns have been given to. The next turn enters one anew.
  ///
  /// - Precondition: on the loop's thread, and outside of turns.
  @available(*, noasync, message: "a loop belongs to a thread: end its turns from synchronous code")
  public func endTurns() {
    preconditionOnLoop("endTurns")
    precondition(
      state.value.active == 0, "a turn cannot end the turns; stop() asks the host to do that")
    sleeping.store(false, ordering: .sequentiallyConsistent)
    poller.arm(until: .max)
    guard let stay = state.value.stay else { return }
    state.value.active += 1
    leave(stay)
    state.value.active -= 1
  }

  /// When the loop wants its next turn if nothing else asks for one before; nil for never, the past
  /// for now. For hosts that cannot watch ``pollDescriptor``, or have a time-out to fill in.
  ///
  /// It is about the mode of the last turn. Sources and blocks from other threads are not foreseen.
  ///
  /// - Precondition: on the loop's thread.
  public var nextDeadline: Instant? {
    preconditionOnLoop("nextDeadline")
    guard sleeping.load(ordering: .sequentiallyConsistent) else { return now }
    // Nothing has changed since it fell asleep, or it would have been woken.
    var (deadline, continuous) = state.value.armed
    if continuous != .max {
      let ahead = poller.continuousNow.addingClamped(-poller.now)
      deadline = min(deadline, continuous.addingClamped(-ahead))
    }
    return deadline == .max ? nil : Instant(nanoseconds: deadline)
  }

  // MARK: The stay of a guest

  /// Enters a run for a host; none in a mode with nothing in it, where a stop counts all the same:
  /// it is for the host.
  private func enterStay(in mode: ModeTable.Index) -> RunResult? {
    let run = Activation(
      mode: mode, level: level.load(ordering: .relaxed) + 1, outer: state.value.mode)
    guard state.value.modes[mode].exists, !isEmpty(mode) else {
      return takeStop(run) ? .stopped : .finished
    }
    state.value.stay = Stay(run: run)
    return begin(run)
  }

  /// Goes on with a run until it would wait, which it then leaves to the host, or until it is over
  /// or the turn is.
  private func advance(_ stay: inout Stay) -> RunResult? {
    stay.isHurried = false
    var ready: [ReadyEvent] = []
    if var pass = stay.waiting.take() {
      poller.wait(until: .min, into: &ready)
      wakeFromSleep(pass, into: &ready)
      pass.runs = state.value.runs
      if let result = close(pass, ready) { return result }
    }
    repeat {
      ready.removeAll(keepingCapacity: true)
      var pass = open(stay.run, into: &ready)
      if pass.waits, let deadline = fallAsleep(pass, into: &ready) {
        if deadline > poller.now {
          stay.waiting = pass
          arm(until: deadline, continuous: nextContinuousWake(in: stay.run.mode))
          hurryIdleWork(&stay)
          return nil
        }
        poller.wait(until: .min, into: &ready)
        wakeFromSleep(pass, into: &ready)
      }
      pass.runs = state.value.runs
      if let result = close(pass, ready) { return result }
    } while poller.now < state.value.turnEnds
    hurry(&stay)
    return nil
  }

  /// Idle work that would have gone on but for the end of the turn wants the next one at once.
  private func hurryIdleWork(_ stay: inout Stay) {
    guard hasIdleWork, stay.waiting?.idleWish == .max,
      state.value.modes[stay.run.mode].isCommon, state.value.turnEnds <= poller.now
    else { return }
    hurry(&stay)
  }

  private func hurry(_ stay: inout Stay) {
    stay.isHurried = true
    poller.wake()
  }

  /// A turn that begins with a pass sees to whatever made the descriptor readable.
  private func forgetWakeUps() {
    sleeping.store(false, ordering: .sequentiallyConsistent)
    var ready: [ReadyEvent] = []
    poller.wait(until: .min, into: &ready)
  }

  /// No run is entered, but whatever comes asks for a turn.
  private func rest() {
    arm(until: .max, continuous: .max)
    sleeping.store(true, ordering: .sequentiallyConsistent)
    let stop = Loop.stopBit(of: level.load(ordering: .relaxed) + 1)
    if mail.isPending || stops.load(ordering: .sequentiallyConsistent) & stop != 0 {
      wakeIfSleeping()
    }
  }

  private func arm(until deadline: Int64, continuous: Int64) {
    state.value.armed = (deadline, continuous)
    poller.arm(until: deadline)
  }

  private func leave(_ stay: Stay) {
    state.value.stay = nil
    sleeping.store(false, ordering: .sequentiallyConsistent)
    callOffWait(stay)
    end(stay.run, .stopped)
  }

  private func callOffWait(_ stay: Stay) {
    guard let pass = stay.waiting else { return }
    record(.waitEnds)
    notify(.afterWaiting, in: pass.run.mode)
    record(.passEnds)
  }

  // MARK: Carried runs

  /// Waits for a loop in its stead.
  package protocol Host: AnyObject {
    /// Waits until the loop wants a turn.
    func wait(for loop: Loop)
  }

  /// Who carries the loop's runs, so that what is true of runs can be seen to be true of turns.
  package var host: (any Host)? {
    get { state.value.host }
    set { state.value.host = newValue }
  }

  /// The passes of a run, as a guest.
  func carry(_ run: Activation) -> RunResult {
    var stay = Stay(run: run)
    while true {
      if let result = advance(&stay) { return result }
      state.value.host?.wait(for: self)
    }
  }
}

/// A run whose host waits for it.
struct Stay {
  let run: Activation
  /// The pass that waits; none if the time was up between two.
  var waiting: Pass?
  /// Whether the last turn was too short.
  var isHurried = false
}
