// SPDX-License-Identifier: Apache-2.0

/// Sources and descriptor sources on the loop's thread: what a mode gained or lost, told to their
/// handlers and to the kernel.
extension Loop {
  // MARK: Sources

  func admit(_ source: Source, to mode: Mode) {
    guard let seat = source.seat(in: self, make: true) else { return }
    if state.value.seats.updateValue(seat, forKey: ObjectIdentifier(source)) == nil {
      seat.membership = Membership(sequence: state.value.nextSequence())
    }
    // Signalled before it came: known here from now on, also to a run in its schedule handler.
    let signal = source.signalSequence
    if signal != 0, seat.membership.modes == 0 { state.value.signals.append(seat, signal) }
    if mode == .common {
      if !seat.membership.isCommon {
        seat.membership.isCommon = true
        seat.commonSince = state.value.nextSequence()
      }
      // Its schedule handler may take it out again before the next mode.
      for index in state.value.modes.common where seat.membership.isCommon { join(seat, index) }
    } else {
      join(seat, state.value.modes.index(of: mode))
    }
  }

  func join(_ seat: Seat, _ mode: ModeTable.Index) {
    guard !state.value.modes.contains(mode, in: seat.membership.modes), seat.source.isValid else {
      return
    }
    state.value.modes.create(mode)
    seat.membership.modes = state.value.modes.adding(mode, to: seat.membership.modes)
    state.value.modes[mode].items += 1
    seat.source.calls?.schedule?(seat.source, self, state.value.modes[mode].mode)
  }

  private func leave(_ seat: Seat, _ mode: ModeTable.Index) {
    guard state.value.modes.contains(mode, in: seat.membership.modes) else { return }
    seat.membership.modes = state.value.modes.removing(mode, from: seat.membership.modes)
    state.value.modes[mode].items -= 1
    let cancel = seat.source.calls?.cancel
    releaseIfUnused(seat)
    cancel?(seat.source, self, state.value.modes[mode].mode)
  }

  private func releaseIfUnused(_ seat: Seat) {
    // A cancel handler may have added the source again, to a seat of its own.
    let id = ObjectIdentifier(seat.source)
    guard seat.membership.isEmpty, state.value.seats[id] === seat else { return }
    state.value.seats[id] = nil
    seat.source.leave(seat)
  }

  func dismiss(_ source: Source, from mode: Mode) {
    guard let seat = state.value.seats[ObjectIdentifier(source)] else { return }
    if mode == .common {
      guard seat.membership.isCommon else { return }
      seat.membership.isCommon = false
      for index in state.value.modes.common { leave(seat, index) }
    } else if let index = state.value.modes.existing(mode) {
      leave(seat, index)
    }
    releaseIfUnused(seat)
  }

  /// Whether a mode has the source of a seat, be it in another seat by now: taken out and added
  /// again.
  func isSeated(_ seat: Seat, in mode: ModeTable.Index) -> Bool {
    var seat = seat
    if seat.membership.isEmpty {
      guard let latest = state.value.seats[ObjectIdentifier(seat.source)] else { return false }
      seat = latest
    }
    return state.value.modes.contains(mode, in: seat.membership.modes)
  }

  /// An invalid source leaves this loop.
  func retire(_ seat: Seat) {
    seat.membership.isCommon = false
    for index in state.value.modes.modes(of: seat.membership.modes) { leave(seat, index) }
    releaseIfUnused(seat)
    seat.source.leave(seat)
  }

  // MARK: Descriptor sources

  /// A descriptor source is in a mode: the kernel hears of it.
  func attach(_ source: DescriptorSource) throws(SystemError) {
    if !state.value.descriptors.hasRoom(for: source.descriptor) {
      try poller.prepare(source.descriptor)
    }
    let slot = state.value.descriptors.slot(of: source.descriptor)
    if state.value.descriptors.insert(source, in: slot) {
      // Its number may stand for another file than it did when we last told the kernel.
      state.value.descriptors[slot].isKnown = false
    }
    // Nothing is asked for yet, and nothing would be said.
    if source.interest.isEmpty { try poller.prepare(source.descriptor) }
    try refresh(slot)
  }

  /// It left a mode, perhaps its last.
  func detach(_ source: DescriptorSource) {
    guard let slot = state.value.descriptors.existing(source.descriptor) else { return }
    if source.membership.modes == 0 {
      state.value.descriptors.remove(source, from: slot)
    }
    // Only asking for less: whatever the kernel says of it can be ignored.
    try? refresh(slot)
    let entry = state.value.descriptors[slot]
    if !entry.first.isThere, !entry.isMainQueue { state.value.descriptors.remove(slot) }
  }

  /// Someone wants to hear more of a descriptor, or less.
  func interestChanged(_ source: DescriptorSource) {
    guard source.belongs(to: self), source.membership.modes != 0,
      let slot = state.value.descriptors.existing(source.descriptor)
    else { return }
    try? refresh(slot)
  }

  /// Asks the kernel for all that the sources of a descriptor want, in any mode.
  func refresh(_ slot: DescriptorTable.Slot) throws(SystemError) {
    try ask(slot, for: state.value.descriptors.interest(of: slot))
    state.value.descriptors.unnarrow(slot)
  }

  private func ask(_ slot: DescriptorTable.Slot, for interest: Readiness) throws(SystemError) {
    let entry = state.value.descriptors[slot]
    // Told again even if nothing changed when it is new: the kernel has to say whether it can.
    guard interest != entry.watched || !entry.isKnown else { return }
    let token = state.value.descriptors.token(of: slot)
    try poller.watch(entry.descriptor, for: interest, token: token)
    state.value.descriptors[slot].watched = interest
    state.value.descriptors[slot].isKnown = true
    state.value.descriptors.hasNews = true
  }

  /// Leaves in `ready` what the mode has takers for, and keeps the kernel from telling us again of
  /// what it has none for.
  @inline(__always)
  func keepWanted(_ ready: inout [ReadyEvent], in mode: ModeTable.Index) {
    if !ready.isEmpty { sortOut(&ready, in: mode) }
  }

  private func sortOut(_ ready: inout [ReadyEvent], in mode: ModeTable.Index) {
    let mainQueue = state.value.modes[mode].isCommon && !state.value.isDrainingMainQueue
    ready.removeAll { event in
      guard let slot = state.value.descriptors.slot(ofToken: event.token) else {
        if state.value.descriptors.isHaunted(by: event.token) { poller.startAfresh() }
        return true
      }
      let interest = state.value.descriptors.interest(
        of: slot, in: mode, of: state.value.modes, mainQueue: mainQueue)
      if !interest.isEmpty,
        !event.readiness.isDisjoint(with: interest.union(.alwaysReported))
      {
        return false
      }
      try? ask(slot, for: interest)
      state.value.descriptors.narrow(slot, for: mode)
      return true
    }
  }

  /// Before a wait in another mode than the last: what was narrowed for that one counts again.
  @inline(__always)
  func widenIfModeChanged(_ mode: ModeTable.Index) {
    guard let narrowedFor = state.value.descriptors.narrowedFor, narrowedFor != mode else { return }
    widen()
  }

  func widen() {
    for slot in state.value.descriptors.widen() { try? refresh(slot) }
  }
}

extension Loop.DescriptorError {
  init(_ error: SystemError, descriptor: CInt) {
    switch error.kind {
    case .notPollable: self = .notPollable(descriptor)
    case .notOpen: self = .notOpen(descriptor)
    case .exhausted: self = .exhausted(error)
    case .other: self = .failed(error)
    }
  }
}
