// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  // MARK: Adding and removing

  /// Adds an observer to `mode`, or to every common mode. Adding it again changes nothing.
  ///
  /// > Threads: any.
  ///
  /// - Complexity: O(*n*) in the observers of the mode.
  /// - Precondition: no other loop has it. An invalid observer is not added.
  public func add(_ observer: Observer, to mode: Mode = .default) { addItem(observer, to: mode) }

  /// Adds a source to `mode`, or to every common mode, and calls its schedule handler for each mode
  /// it was not in yet, on the loop's thread. A source may be in several loops.
  ///
  /// > Threads: any. A sleeping loop wakes.
  public func add(_ source: Source, to mode: Mode = .default) {
    preconditionFits(source)
    source.joins(self)
    submit(.addSource(source, mode))
  }

  @inline(__always)
  func fits(_ item: Item) -> Bool { !item.traits.contains(.forMain) || isMain }

  private func preconditionFits(_ item: Item) {
    precondition(
      fits(item),
      "this item's handlers are of the main actor; for this loop make it with "
        + "Loop.\(type(of: item))(…)"
    )
  }

  /// Adds a descriptor source to `mode`, or to every common mode. Adding it again changes nothing.
  ///
  /// > Threads: any. A sleeping loop wakes, and serves a descriptor that is ready at once.
  ///
  /// - Throws: ``DescriptorError`` when the kernel will not watch the descriptor; nothing is added.
  /// - Precondition: no other loop has it. An invalid source is not added.
  public func add(_ source: DescriptorSource, to mode: Mode = .default) throws(DescriptorError) {
    do {
      if isCurrent {
        readMail()
        guard !state.value.isOver, claim(source) else { return }
        try admit(source, to: mode)
      } else {
        try poller.prepare(source.descriptor)
        addItem(source, to: mode)
      }
    } catch {
      throw DescriptorError(error, descriptor: source.descriptor)
    }
  }

  func addItem<Kept: Item>(_ item: Kept, to mode: Mode) {
    guard isCurrent else { return addFromElsewhere(item, to: mode) }
    readMail()
    guard !state.value.isOver, claim(item) else { return }
    // Only descriptor sources can be refused, and come another way.
    try? admit(item, to: mode)
    wakeIfSleeping()
  }

  private func addFromElsewhere(_ item: Item, to mode: Mode) {
    // The loop's thread does not end before we have let go: the next thread could have its word,
    // and take for its own an item that we are about to take back.
    arrivals.wrappingAdd(1, ordering: .sequentiallyConsistent)
    defer { arrivals.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    guard !hasEnded.load(ordering: .sequentiallyConsistent), claim(item) else { return }
    if !post(.add(item, mode)) { item.unclaim(from: self) }
  }

  /// Takes an item for this loop; false if it is invalid, or nothing can be added any more.
  @inline(__always)
  private func claim(_ item: Item) -> Bool {
    preconditionFits(item)
    switch item.claim(for: self) {
    case .granted: return true
    case .invalid: return false
    case .elsewhere:
      preconditionFailure(
        "this item belongs to another thread's loop; remove it there first, or make one for each "
          + "loop"
      )
    }
  }

  /// Takes an item out of `mode`; out of all common modes for ``Mode/common``. It stays valid and
  /// can be added again. Removing what is not there changes nothing.
  ///
  /// > Threads: any. From the loop's own thread no callout comes after this; from others the loop
  /// > is told.
  public func remove(_ item: Item, from mode: Mode) {
    guard isCurrent else { return _ = post(.remove(item, mode)) }
    readMail()
    guard !state.value.isOver else { return }
    item.removed(from: mode, of: self)
    wakeIfSleeping()
  }

  // MARK: Questions

  /// Whether `mode` has the item; for ``Mode/common``, whether it joins every mode that becomes
  /// common.
  ///
  /// - Precondition: on the loop's thread.
  public func contains(_ item: Item, in mode: Mode) -> Bool {
    preconditionOnLoop()
    readMail()
    guard item.isValid, let membership = membership(of: item) else { return false }
    if mode == .common { return membership.isCommon }
    guard let index = state.value.modes.existing(mode) else { return false }
    return state.value.modes.contains(index, in: membership.modes)
  }

  /// The modes that have come into being: something was added to them, or a block queued.
  ///
  /// - Precondition: on the loop's thread.
  public var modes: Set<Mode> {
    preconditionOnLoop()
    readMail()
    return Set(
      (0..<state.value.modes.count).lazy.filter { self.state.value.modes[$0].exists }
        .map { self.state.value.modes[$0].mode })
  }

  /// When the next timer of `mode` is due, one that is firing included; nil without timers.
  ///
  /// Timers on the clock that counts suspend are not among them, since their dates do not compare.
  ///
  /// - Precondition: on the loop's thread.
  public func nextFire(in mode: Mode) -> Instant? {
    preconditionOnLoop()
    readMail()
    guard let index = state.value.modes.existing(mode) else { return nil }
    // One that is firing may have been given to another loop by its handler.
    var candidates = (0..<state.value.firing.count).compactMap {
      state.value.firing[$0].value
    }.filter {
      $0.isValid && $0.belongs(to: self)
        && state.value.modes.contains(index, in: $0.membership.modes)
    }
    for place in 0..<timerQueueCount(of: index) {
      var firsts: [TimerQueues.Due] = []
      let queue = state.value.modes[index].timerQueues[place]
      state.value.timers.collectFirst(from: queue, into: &firsts)
      for entry in firsts {
        if let timer = entry.timer.value { candidates.append(timer) }
      }
    }
    let first = candidates.filter { $0.base == .suspending }.min {
      ($0.due, $0.membership.sequence)
        < ($1.due, $1.membership.sequence)
    }
    return first?.nextFire
  }

  /// Makes `mode` common: every common item joins it, now and later. A mode stays common.
  ///
  /// > Threads: any.
  public func addCommonMode(_ mode: Mode) { submit(.addCommonMode(mode)) }

  // MARK: On the loop's thread

  /// Puts a claimed item into a mode.
  func admit<Kept: Item>(_ item: Kept, to mode: Mode) throws(SystemError) {
    if item.slot < 0 { item.enters(self) }
    if item.membership.modes == 0 { item.membership.sequence = state.value.nextSequence() }
    let before = item.membership
    do {
      guard mode == .common else { return try join(item, state.value.modes.index(of: mode)) }
      if !before.isCommon {
        item.membership.isCommon = true
        item.commonSince = state.value.nextSequence()
      }
      for index in state.value.modes.common { try join(item, index) }
    } catch {
      // All or nothing: it stays where it was before.
      item.membership.isCommon = before.isCommon
      for index in state.value.modes.modes(of: item.membership.modes)
      where !state.value.modes.contains(index, in: before.modes) {
        leave(item, index)
      }
      releaseIfUnused(item)
      throw error
    }
  }

  @inline(__always)
  private func join<Kept: Item>(_ item: Kept, _ mode: ModeTable.Index) throws(SystemError) {
    guard !state.value.modes.contains(mode, in: item.membership.modes) else { return }
    state.value.modes.create(mode)
    let former = item.membership.modes
    item.membership.modes = state.value.modes.adding(mode, to: former)
    do {
      try item.joined(mode, from: former, of: self)
    } catch {
      leave(item, mode)
      throw error
    }
  }

  @inline(__always)
  private func leave<Kept: Item>(_ item: Kept, _ mode: ModeTable.Index) {
    guard state.value.modes.contains(mode, in: item.membership.modes) else { return }
    let former = item.membership.modes
    item.membership.modes = state.value.modes.removing(mode, from: former)
    item.left(mode, from: former, of: self)
  }

  @inline(__always)
  private func releaseIfUnused<Kept: Item>(_ item: Kept) {
    guard item.membership.isEmpty else { return }
    item.unclaim(from: self)
    item.leaves(self)
  }

  func dismiss<Kept: Item>(_ item: Kept, from mode: Mode) {
    guard item.belongs(to: self), item.slot >= 0 else { return }
    if mode == .common {
      guard item.membership.isCommon else { return }
      item.membership.isCommon = false
      for index in state.value.modes.common { leave(item, index) }
    } else if let index = state.value.modes.existing(mode) {
      leave(item, index)
    }
    releaseIfUnused(item)
  }

  /// An invalid item leaves everything, and its handlers go.
  func retire(_ item: Item) {
    guard item.belongs(to: self) else { return }
    if item.slot >= 0 {
      item.membership.isCommon = false
      if let index = state.value.modes.onlyMode(of: item.membership.modes) {
        leave(item, index)
      } else {
        for index in state.value.modes.modes(of: item.membership.modes) { leave(item, index) }
      }
      releaseIfUnused(item)
    } else {
      item.unclaim(from: self)
    }
    item.release()
  }

  /// The loop's thread ends. The item stays valid, and can be added to another loop.
  func abandon(_ item: Item) {
    if case .descriptor(let source) = item.kind {
      poller.unwatch(source.descriptor)
      source.next = Unretained(nil)
    }
    item.membership = Membership()
    item.slot = -1
    item.unclaim(from: self)
  }

  func makeCommon(_ mode: Mode) {
    guard mode != .common else { return }
    let index = state.value.modes.index(of: mode)
    guard !state.value.modes[index].isCommon else { return }
    state.value.modes.makeCommon(index)
    // In the order they became common, sources and the rest together.
    let items = (state.value.items.all + state.value.timers.all)
      .filter(\.membership.isCommon).map { ($0.commonSince, $0) }
    let sources = state.value.seats.values
      .filter(\.membership.isCommon).map { ($0.commonSince, $0.source as Item) }
    for (_, item) in (items + sources).sorted(by: { $0.0 < $1.0 }) where item.isValid {
      // Asked again: the schedule handler of an earlier one may have taken it out.
      guard let membership = membership(of: item), membership.isCommon else { continue }
      if case .source(let source) = item.kind {
        if let seat = state.value.seats[ObjectIdentifier(source)] { join(seat, index) }
      } else {
        // The kernel watches it already; a failure could only be news about a closed descriptor.
        try? join(item, index)
      }
    }
    if state.value.watchesMainQueue { widen() }
  }

  private func membership(of item: Item) -> Membership? {
    if case .source(let source) = item.kind {
      return state.value.seats[ObjectIdentifier(source)]?.membership
    }
    guard item.belongs(to: self), item.slot >= 0 else { return nil }
    return item.membership
  }
}
