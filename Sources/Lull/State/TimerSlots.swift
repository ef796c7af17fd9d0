// SPDX-License-Identifier: Apache-2.0

/// The timers of a loop by their slots. It keeps them alive.
struct TimerSlots: ~Copyable {
  private var timers = Slab<Unretained<Loop.Timer>>()
  private var free = Slab<Int32>()

  deinit { for index in 0..<timers.count { timers[index].with { _ in timers[index].release() } } }

  mutating func insert(_ timer: Loop.Timer) -> Int32 {
    let timer = Unretained(timer)
    timer.retain()
    if !free.isEmpty {
      let slot = free.removeLast()
      timers[Int(slot)] = timer
      return slot
    }
    timers.append(timer)
    return Int32(timers.count - 1)
  }

  /// Lets go of the timer of a slot.
  mutating func remove(_ slot: Int32) {
    let timer = timers[Int(slot)]
    timers[Int(slot)] = Unretained(nil)
    free.append(slot)
    timer.release()
  }

  /// All of them, in no order. O(n).
  var all: [Loop.Timer] { (0..<timers.count).compactMap { timers[$0].value } }

  // MARK: By their entries

  /// Whether an entry counts: its timer has not been taken out or armed anew since.
  @inline(__always)
  func own(_ entry: TimerEntry) -> Bool {
    timers[Int(entry.slot)].with { $0.arming == entry.arming } ?? false
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
    timers[Int(entry.slot)].with { if $0.arming == entry.arming { body($0) } }
  }
}
