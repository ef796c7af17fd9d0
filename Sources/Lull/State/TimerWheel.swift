// SPDX-License-Identifier: Apache-2.0

/// Entries that are far off, sorted only as finely as their distance asks for: appended to a
/// bucket, and handed on to finer ones as their time comes near.
///
/// Time is cut into ticks of 2^18 ns, about a quarter of a millisecond. A tick's number has groups
/// of six bits. An entry lies at the level of the highest group in which its tick differs from the
/// current one, in the bucket of that group's value: so the lowest bucket of the lowest level is
/// the next in time, and an entry moves at most once a level. The idea is that of the hierarchical
/// wheel of Varghese and Lauck (1987), without a hand that turns: the current tick jumps from
/// bucket to bucket.
struct TimerWheel: ~Copyable {
  struct Level: ~Copyable {
    var buckets = Slab<Slab<TimerEntry>>()
    /// A bit for each bucket that is not empty.
    var occupied: UInt64 = 0

    @inline(__always)
    mutating func insert(_ entry: TimerEntry, in bucket: Int) {
      if buckets.isEmpty { makeBuckets() }
      buckets[bucket].append(entry)
      occupied |= 1 << UInt64(bucket)
    }

    private mutating func makeBuckets() {
      while buckets.count < 64 { buckets.append(Slab()) }
    }
  }

  private static let tickBits: Int64 = 18
  private static let groupBits = 6

  /// The finest first; their buckets are made when first needed.
  private var levels = Slab<Level>()
  /// A bit for each level that is not empty.
  private var occupied: UInt32 = 0
  private var current: Int64 = 0
  /// Empty; storage for the next bucket that needs some.
  private var spare = Slab<TimerEntry>()

  var isEmpty: Bool { occupied == 0 }

  @inline(__always)
  private static func tick(of deadline: Int64) -> Int64 { max(0, deadline) >> tickBits }

  /// Whether a deadline comes before all that the wheel is for.
  @inline(__always)
  func isNear(_ deadline: Int64) -> Bool { TimerWheel.tick(of: deadline) <= current }

  /// Takes an entry that is not near.
  @inline(__always)
  mutating func insert(_ entry: TimerEntry) {
    let tick = TimerWheel.tick(of: entry.deadline)
    let highest = 63 - (tick ^ current).leadingZeroBitCount
    // A division by six, for what is less than 46.
    let level = (highest * 43) >> 8
    if level >= levels.count { makeLevel(level) }
    levels[level].insert(entry, in: Int(tick >> Int64(level * TimerWheel.groupBits)) & 63)
    occupied |= 1 << UInt32(level)
  }

  /// When the next bucket begins: nothing here is due before.
  var nextBucket: Int64? {
    guard occupied != 0 else { return nil }
    let level = occupied.trailingZeroBitCount
    return start(of: levels[level].occupied.trailingZeroBitCount, at: level) << TimerWheel.tickBits
  }

  /// Whether the next bucket is one tick long.
  var nextIsFinest: Bool { occupied & 1 != 0 }

  /// How many entries lie in the next bucket.
  var nextCount: Int {
    guard occupied != 0 else { return 0 }
    let level = occupied.trailingZeroBitCount
    return levels[level].buckets[levels[level].occupied.trailingZeroBitCount].count
  }

  /// One of them.
  subscript(index: Int) -> TimerEntry {
    let level = occupied.trailingZeroBitCount
    return levels[level].buckets[levels[level].occupied.trailingZeroBitCount][index]
  }

  /// Takes the next bucket's entries, and time on to its first tick if it `advances`.
  mutating func takeNext(advances: Bool) -> Slab<TimerEntry> {
    let level = occupied.trailingZeroBitCount
    let bucket = levels[level].occupied.trailingZeroBitCount
    if advances { current = start(of: bucket, at: level) }
    var taken = Slab<TimerEntry>()
    swap(&taken, &spare)
    swap(&taken, &levels[level].buckets[bucket])
    empty(bucket, at: level)
    return taken
  }

  /// Takes a bucket's storage back, unless it is large.
  mutating func reuse(_ emptied: consuming Slab<TimerEntry>) {
    guard emptied.capacity <= 256 else { return }
    emptied.truncate(to: 0)
    swap(&spare, &emptied)
  }

  /// Brings an empty wheel up to the time.
  mutating func advance(to now: Int64) {
    assert(isEmpty, "entries lie where the current tick has put them")
    current = max(current, TimerWheel.tick(of: now))
  }

  /// Keeps what `isWanted`, in O(n).
  mutating func filter(_ isWanted: (TimerEntry) -> Bool) {
    for level in 0..<levels.count {
      for bucket in 0..<64 where levels[level].occupied & (1 << UInt64(bucket)) != 0 {
        levels[level].buckets[bucket].filter(isWanted)
        guard levels[level].buckets[bucket].isEmpty else { continue }
        levels[level].buckets[bucket] = Slab()
        empty(bucket, at: level)
      }
    }
  }

  /// The first tick of a bucket: the current one's coarser groups, the bucket's own, and zeros.
  private func start(of bucket: Int, at level: Int) -> Int64 {
    let shift = Int64(level * TimerWheel.groupBits)
    return ((current >> (shift + 6)) << 6 | Int64(bucket)) << shift
  }

  private mutating func empty(_ bucket: Int, at level: Int) {
    levels[level].occupied &= ~(1 << UInt64(bucket))
    if levels[level].occupied == 0 { occupied &= ~(1 << UInt32(level)) }
  }

  private mutating func makeLevel(_ level: Int) {
    while levels.count <= level { levels.append(Level()) }
  }
}
