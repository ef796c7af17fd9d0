// SPDX-License-Identifier: Apache-2.0

/// The descriptors a loop watches: several sources may share one, and the kernel knows it once.
///
/// There is one epoll whatever the mode. The kernel is asked for all that the sources of any mode
/// want; a descriptor that turns ready for nobody in the mode that runs is narrowed to what that
/// mode wants (to nothing, as a rule: taken out, since hang-up cannot be masked) until another mode
/// runs. So changing modes costs nothing for descriptors that stay quiet.
struct DescriptorTable: ~Copyable {
  typealias Slot = Int

  struct Entry {
    let descriptor: CInt
    /// Tells an event of this entry from one of an earlier entry in its slot.
    let generation: UInt32
    /// The first of its sources, which link to each other; the loop keeps them.
    fileprivate(set) var first = Unretained<Loop.DescriptorSource>(nil)
    /// What the kernel has been asked for.
    var watched: Loop.Readiness = []
    /// Whether the kernel has said that it can be watched.
    var isKnown = false
    /// The dispatch main queue's own descriptor: no source, served by the main loop itself.
    var isMainQueue = false
    var isNarrowed = false
  }

  /// Whether the kernel has been told of anything since this was last set to false.
  var hasNews = false
  private var entries = Slab<Entry>()
  private var slotOf = DescriptorMap<Int32>(none: -1)
  private var free: [Slot] = []
  private var generations: UInt32 = 0
  private(set) var narrowed: [Slot] = []
  private var stranger: UInt64?
  /// The mode for which entries were narrowed.
  private(set) var narrowedFor: ModeTable.Index?

  subscript(slot: Slot) -> Entry {
    @inline(__always) _read { yield entries[slot] }
    @inline(__always) _modify { yield &entries[slot] }
  }

  /// Whether the list by number reaches to a descriptor.
  func hasRoom(for descriptor: CInt) -> Bool { slotOf.hasRoom(for: descriptor) }

  /// The slot of a descriptor, made if it has none; without room only for one that is open.
  mutating func slot(of descriptor: CInt) -> Slot {
    if let slot = existing(descriptor) { return slot }
    generations = (generations + 1) & 0x7FFF_FFFF
    let entry = Entry(descriptor: descriptor, generation: generations)
    let slot: Slot
    if let reused = free.popLast() {
      slot = reused
      entries[slot] = entry
    } else {
      slot = entries.count
      entries.append(entry)
    }
    slotOf[descriptor] = Int32(slot)
    return slot
  }

  func existing(_ descriptor: CInt) -> Slot? {
    let slot = slotOf[descriptor]
    return slot < 0 ? nil : Slot(slot)
  }

  mutating func remove(_ slot: Slot) {
    unnarrow(slot)
    slotOf[entries[slot].descriptor] = -1
    // Of no generation that a token could have: it is nobody's until it is taken again.
    entries[slot] = Entry(descriptor: -1, generation: 1 << 31)
    free.append(slot)
  }

  /// What comes back with an event: the slot, and which of its tenants asked.
  func token(of slot: Slot) -> UInt64 {
    UInt64(entries[slot].generation) << 32 | UInt64(slot)
  }

  /// Whose event it is, unless the entry has gone since.
  func slot(ofToken token: UInt64) -> Slot? {
    let slot = Slot(token & 0xFFFF_FFFF)
    guard slot < entries.count, UInt64(entries[slot].generation) == token >> 32 else { return nil }
    return slot
  }

  // MARK: Sources

  /// The sources of a descriptor at one moment, in the order they were added, kept alive: their
  /// handlers may change the list. As a rule there is one, which takes no allocation.
  struct Takers: Sequence, IteratorProtocol {
    fileprivate var first: Loop.DescriptorSource?
    fileprivate var others: ArraySlice<Loop.DescriptorSource> = []

    mutating func next() -> Loop.DescriptorSource? { first.take() ?? others.popFirst() }
  }

  func takers(of slot: Slot) -> Takers {
    var takers = Takers(first: entries[slot].first.value)
    var link = takers.first?.next.value
    while let source = link {
      takers.others.append(source)
      link = source.next.value
    }
    return takers
  }

  /// Whether it was not there before. O(n) in the sources of the descriptor.
  mutating func insert(_ source: Loop.DescriptorSource, in slot: Slot) -> Bool {
    guard var last = entries[slot].first.value else {
      entries[slot].first = Unretained(source)
      return true
    }
    while last !== source, let next = last.next.value { last = next }
    if last === source { return false }
    last.next = Unretained(source)
    return true
  }

  /// O(n) in the sources of the descriptor.
  mutating func remove(_ source: Loop.DescriptorSource, from slot: Slot) {
    if entries[slot].first.refers(to: source) {
      entries[slot].first = source.next
    } else {
      var former = entries[slot].first.value
      while let one = former, !one.next.refers(to: source) { former = one.next.value }
      former?.next = source.next
    }
    source.next = Unretained(nil)
  }

  /// What the sources of all modes want together.
  func interest(of slot: Slot) -> Loop.Readiness {
    union(of: slot, entries[slot].isMainQueue ? .readable : []) { _ in true }
  }

  /// What those of one mode want.
  func interest(
    of slot: Slot, in mode: ModeTable.Index, of modes: borrowing ModeTable, mainQueue: Bool
  ) -> Loop.Readiness {
    union(of: slot, entries[slot].isMainQueue && mainQueue ? .readable : []) {
      modes.contains(mode, in: $0.membership.modes)
    }
  }

  @inline(__always)
  private func union(
    of slot: Slot, _ all: Loop.Readiness, where counts: (Loop.DescriptorSource) -> Bool
  ) -> Loop.Readiness {
    var all = all
    var link = entries[slot].first
    while let next = link.with({ source in
      if source.isValid, counts(source) { all.formUnion(source.interest) }
      return source.next
    }) {
      link = next
    }
    return all
  }

  /// Notes that the kernel has been asked for less than all, on account of `mode`.
  mutating func narrow(_ slot: Slot, for mode: ModeTable.Index) {
    if !entries[slot].isNarrowed {
      entries[slot].isNarrowed = true
      narrowed.append(slot)
    }
    narrowedFor = mode
  }

  /// The kernel has been asked for all again.
  mutating func unnarrow(_ slot: Slot) {
    guard entries[slot].isNarrowed else { return }
    entries[slot].isNarrowed = false
    narrowed.removeAll { $0 == slot }
  }

  /// Takes note of an event under a token that nobody has; true if it was the last such token too.
  ///
  /// Once is an entry that went after the kernel had seen it ready. Again is a file that was closed
  /// before it was taken out, and that someone else still has open: it could be reported for ever.
  mutating func isHaunted(by token: UInt64) -> Bool {
    defer { stranger = token }
    return stranger == token
  }

  /// Another mode runs, or interests changed: the slots whose full interest counts again.
  mutating func widen() -> [Slot] {
    guard !narrowed.isEmpty else { return [] }
    let slots = narrowed
    for slot in slots { entries[slot].isNarrowed = false }
    narrowed.removeAll(keepingCapacity: true)
    narrowedFor = nil
    return slots
  }
}
