// SPDX-License-Identifier: Apache-2.0

/// The timers of a loop by their slots. It keeps them alive.
struct TimerSlots: ~Copyable {
  private struct Table: ~Copyable {
    var timers = Slab<Unretained<Loop.Timer>>()
    /// Which arming a timer's entry in a queue is of; 0 while it is in none. Beside the timers and
    /// not in them, so that dead entries are found without a look at where each timer lies.
    var armings = Slab<UInt32>()
    var free = Slab<Int32>()
  }

  /// Boxed, since the queues borrow it at every step, and what is larger than a register or two is
  /// copied to the stack for that.
  private let table = Box(Table())

  deinit {
    for index in 0..<table.value.timers.count { table.value.timers[index].release() }
  }

  @inline(__always)
  mutating func insert(_ timer: Loop.Timer) -> Int32 {
    let timer = Unretained(timer)
    timer.retain()
    if !table.value.free.isEmpty {
      let slot = table.value.free.removeLast()
      table.value.timers[Int(slot)] = timer
      return slot
    }
    table.value.timers.append(timer)
    table.value.armings.append(0)
    return Int32(table.value.timers.count - 1)
  }

  /// Lets go of the timer of a slot.
  @inline(__always)
  mutating func remove(_ slot: Int32) {
    let timer = table.value.timers[Int(slot)]
    table.value.timers[Int(slot)] = Unretained(nil)
    table.value.free.append(slot)
    timer.release()
  }

  /// All of them, in no order. O(n).
  var all: [Loop.Timer] {
    (0..<table.value.timers.count).compactMap { table.value.timers[$0].value }
  }

  // MARK: Their armings

  @inline(__always)
  func isArmed(_ timer: Loop.Timer) -> Bool { table.value.armings[Int(timer.slot)] != 0 }

  @inline(__always)
  mutating func arm(_ timer: Loop.Timer, _ arming: UInt32) {
    table.value.armings[Int(timer.slot)] = arming
  }

  @inline(__always)
  mutating func disarm(_ timer: Loop.Timer) { table.value.armings[Int(timer.slot)] = 0 }

  // MARK: By their entries

  /// Whether an entry counts: its timer has not been taken out or armed anew since.
  @inline(__always)
  func own(_ entry: TimerEntry) -> Bool {
    table.value.armings[Int(entry.slot)] == entry.arming
  }

  /// Has the processor fetch what is known here of the timers of entries, and then the timers: many
  /// at once take hardly longer than one.
  @inline(__always)
  func prefetch(_ entries: borrowing Slab<TimerEntry>) {
    for index in 0..<entries.count {
      table.value.armings.prefetch(Int(entries[index].slot))
      table.value.timers.prefetch(Int(entries[index].slot))
    }
    for index in 0..<entries.count {
      table.value.timers[Int(entries[index].slot)].prefetch(Loop.Timer.size)
    }
  }

  /// When the timer of an entry is due; nil if the entry does not count.
  @inline(__always)
  func deadline(of entry: TimerEntry) -> Int64? {
    var deadline: Int64?
    with(entry) { deadline = $0.due }
    return deadline
  }

  /// Does something with the timer of an entry, if the entry counts.
  @inline(__always)
  func with(_ entry: TimerEntry, _ body: (Loop.Timer) -> Void) {
    if own(entry) { table.value.timers[Int(entry.slot)].with { body($0) } }
  }
}
