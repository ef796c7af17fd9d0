// SPDX-License-Identifier: Apache-2.0

/// A timer's place in a queue: for when, and which of its armings this was.
struct TimerEntry {
  let deadline: Int64
  let slot: Int32
  /// The entry counts for as long as the timer of its slot has the same one.
  let arming: UInt32

  /// Whether it is of a later arming. They are counted round and round.
  @inline(__always)
  func isLater(than other: UInt32) -> Bool { Int32(bitPattern: arming &- other) > 0 }

  /// The same for another time.
  func moved(to deadline: Int64) -> TimerEntry {
    TimerEntry(deadline: deadline, slot: slot, arming: arming)
  }
}

/// Entries of which the first in time is at hand: a four-way heap, whose children lie side by side.
struct TimerHeap: ~Copyable {
  private var entries = Slab<TimerEntry>()

  var count: Int { entries.count }

  @inline(__always)
  var first: TimerEntry? { entries.isEmpty ? nil : entries[0] }

  mutating func insert(_ entry: TimerEntry) {
    entries.append(entry)
    var position = entries.count - 1
    while position > 0 {
      let parent = (position - 1) / 4
      guard entry.deadline < entries[parent].deadline else { break }
      entries[position] = entries[parent]
      position = parent
    }
    entries[position] = entry
  }

  mutating func removeFirst() {
    let last = entries.removeLast()
    if !entries.isEmpty { sink(last, from: 0) }
  }

  /// Keeps what `isWanted`, in O(n).
  mutating func filter(_ isWanted: (TimerEntry) -> Bool) {
    entries.filter(isWanted)
    guard count > 1 else { return }
    for position in (0...(count - 2) / 4).reversed() { sink(entries[position], from: position) }
  }

  /// Visits the first entry, and below each for which `goesOn` the four that are not before it.
  @inline(__always)
  func visit(_ goesOn: (TimerEntry) -> Bool) {
    var position = 0
    while position < count {
      if goesOn(entries[position]), 4 * position + 1 < count {
        position = 4 * position + 1
        continue
      }
      // The last of its kind is followed by its parent's neighbour.
      while position > 0, position % 4 == 0 || position + 1 == count {
        position = (position - 1) / 4
      }
      if position == 0 { return }
      position += 1
    }
  }

  private mutating func sink(_ entry: TimerEntry, from start: Int) {
    var position = start
    while true {
      var least = 4 * position + 1
      guard least < count else { break }
      var deadline = entries[least].deadline
      var child = least + 1
      let end = min(least + 4, count)
      while child < end {
        if entries[child].deadline < deadline {
          (least, deadline) = (child, entries[child].deadline)
        }
        child += 1
      }
      guard deadline < entry.deadline else { break }
      entries[position] = entries[least]
      position = least
    }
    entries[position] = entry
  }
}
