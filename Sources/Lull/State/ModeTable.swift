// SPDX-License-Identifier: Apache-2.0

/// A loop's modes, and the sets of modes its items are in.
///
/// Sets are interned: an item holds one number, and two items in the same modes hold the same. So
/// membership costs a bit test, timers of the same modes share a queue, and a timer in five modes
/// is armed once.
package struct ModeTable: ~Copyable {
  /// A mode's place in this loop, from 0 in the order of first use.
  package typealias Index = Int

  /// An interned set of modes; 0 is the empty one.
  package typealias SetID = Int32

  private var entries = Slab<Entry>()
  /// By the mode's own number; -1 where this loop has none.
  private var indexOf = Slab<Int32>()
  private var sets = Slab<ModeSet>()
  /// Of sets of several modes. The first lookup costs a program a tenth of a millisecond, in which
  /// Swift's runtime searches it for the conformances, and most programs need none.
  private var idOf: [ModeSet: SetID] = [:]
  /// The common modes, in the order of first use.
  private(set) var common: [Index] = []

  package init() { sets.append(ModeSet()) }

  struct Entry: ~Copyable {
    let mode: Loop.Mode
    /// Whether it has come into being: something was added to it, or a block queued for it.
    var exists = false
    fileprivate(set) var isCommon = false
    /// Sources, descriptor sources and timers in it: what keeps a run of it going.
    var items = 0
    /// Those of them that the kernel watches.
    var descriptorSources = 0
    var observers = ObserverList()
    /// The set of this mode alone; 0 while nobody has needed it.
    fileprivate(set) var alone: SetID = 0
    /// The timer queues it serves, among the first `knownQueues` there are.
    var timerQueues: [Int32] = []
    var knownQueues = 0
  }

  /// The place of `mode`, made if it has none; a new place does not bring the mode into being.
  @inline(__always)
  mutating func index(of mode: Loop.Mode) -> Index { existing(mode) ?? addEntry(for: mode) }

  private mutating func addEntry(for mode: Loop.Mode) -> Index {
    while indexOf.count <= Int(mode.id) { indexOf.append(-1) }
    indexOf[Int(mode.id)] = Int32(entries.count)
    entries.append(Entry(mode: mode))
    return entries.count - 1
  }

  /// The place of `mode`, or nil when this loop has never heard of it.
  @inline(__always)
  func existing(_ mode: Loop.Mode) -> Index? {
    guard mode.id < indexOf.count, indexOf[Int(mode.id)] >= 0 else { return nil }
    return Int(indexOf[Int(mode.id)])
  }

  var count: Int { entries.count }

  subscript(index: Index) -> Entry {
    @inline(__always) _read { yield entries[index] }
    @inline(__always) _modify { yield &entries[index] }
  }

  @inline(__always)
  mutating func create(_ index: Index) { entries[index].exists = true }

  @inline(__always)
  mutating func create(_ mode: Loop.Mode) { create(index(of: mode)) }

  mutating func makeCommon(_ index: Index) {
    guard !entries[index].isCommon else { return }
    entries[index].isCommon = true
    common = (0..<entries.count).filter { entries[$0].isCommon }
  }

  // MARK: Sets

  @inline(__always)
  func contains(_ mode: Index, in set: SetID) -> Bool { sets[Int(set)].contains(mode) }

  /// The modes of a set, ascending.
  func modes(of set: SetID) -> [Index] { sets[Int(set)].members }

  /// The only mode of a set; nil if it has none, or several.
  @inline(__always)
  func onlyMode(of set: SetID) -> Index? { sets[Int(set)].only }

  @inline(__always)
  mutating func adding(_ mode: Index, to set: SetID) -> SetID {
    // Most items are in one mode.
    if set == 0, entries[mode].alone > 0 { return entries[mode].alone }
    return internAdding(mode, to: set)
  }

  private mutating func internAdding(_ mode: Index, to set: SetID) -> SetID {
    var changed = sets[Int(set)]
    changed.insert(mode)
    return intern(changed)
  }

  @inline(__always)
  mutating func removing(_ mode: Index, from set: SetID) -> SetID {
    if set == entries[mode].alone { return 0 }
    return internRemoving(mode, from: set)
  }

  private mutating func internRemoving(_ mode: Index, from set: SetID) -> SetID {
    var changed = sets[Int(set)]
    changed.remove(mode)
    return intern(changed)
  }

  private mutating func intern(_ set: ModeSet) -> SetID {
    if set.isEmpty { return 0 }
    if let mode = set.only {
      if entries[mode].alone == 0 { entries[mode].alone = add(set) }
      return entries[mode].alone
    }
    if let id = idOf[set] { return id }
    let id = add(set)
    idOf[set] = id
    return id
  }

  private mutating func add(_ set: ModeSet) -> SetID {
    sets.append(set)
    return SetID(sets.count - 1)
  }
}

/// A set of mode places. The first 64 cost no allocation.
package struct ModeSet: Hashable {
  private var first: UInt64 = 0
  private var rest: [UInt64] = []

  package init() {}

  @inline(__always)
  package func contains(_ mode: Int) -> Bool {
    if mode < 64 { return first & (1 << UInt64(mode)) != 0 }
    let word = mode / 64 - 1
    return word < rest.count && rest[word] & (1 << UInt64(mode % 64)) != 0
  }

  package mutating func insert(_ mode: Int) {
    if mode < 64 {
      first |= 1 << UInt64(mode)
    } else {
      let word = mode / 64 - 1
      while rest.count <= word { rest.append(0) }
      rest[word] |= 1 << UInt64(mode % 64)
    }
  }

  package mutating func remove(_ mode: Int) {
    guard contains(mode) else { return }
    if mode < 64 {
      first &= ~(1 << UInt64(mode))
    } else {
      rest[mode / 64 - 1] &= ~(1 << UInt64(mode % 64))
      // Equal sets have equal words: no zeros may trail.
      while rest.last == 0 { rest.removeLast() }
    }
  }

  var isEmpty: Bool { first == 0 && rest.isEmpty }

  /// Its member, if it has only one.
  @inline(__always)
  var only: Int? {
    if rest.isEmpty { return first.nonzeroBitCount == 1 ? first.trailingZeroBitCount : nil }
    return onlyInRest
  }

  private var onlyInRest: Int? {
    // The last word is not zero.
    guard first == 0, rest.last!.nonzeroBitCount == 1, rest.dropLast().allSatisfy({ $0 == 0 })
    else { return nil }
    return 64 * rest.count + rest.last!.trailingZeroBitCount
  }

  package var members: [Int] {
    (0..<(64 * (rest.count + 1))).filter(contains)
  }
}
