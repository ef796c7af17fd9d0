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
    var sources: [Loop.DescriptorSource] = []
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
  private var slotOf: [CInt: Slot] = [:]
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

  /// The slot of a descriptor, made if it has none.
  mutating func slot(of descriptor: CInt) -> Slot {
    if let slot = slotOf[descriptor] { return slot }
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
    slotOf[descriptor] = slot
    return slot
  }

  func existing(_ descriptor: CInt) -> Slot? { slotOf[descriptor] }

  mutating func remove(_ slot: Slot) {
    unnarrow(slot)
    slotOf[entries[slot].descriptor] = nil
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

  /// What the sources of all modes want together.
  func interest(of slot: Slot) -> Loop.Readiness {
    var all: Loop.Readiness = entries[slot].isMainQueue ? .readable : []
    for source in entries[slot].sources where source.isValid { all.formUnion(source.interest) }
    return all
  }

  /// What those of one mode want.
  func interest(
    of slot: Slot, in mode: ModeTable.Index, of modes: borrowing ModeTable, mainQueue: Bool
  ) -> Loop.Readiness {
    var all: Loop.Readiness = entries[slot].isMainQueue && mainQueue ? .readable : []
    for index in entries[slot].sources.indices {
      let source = entries[slot].sources[index]
      if source.isValid, modes.contains(mode, in: source.membership.modes) {
        all.formUnion(source.interest)
      }
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
