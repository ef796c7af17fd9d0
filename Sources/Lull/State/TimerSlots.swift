// SPDX-License-Identifier: Apache-2.0

/// The timers of a loop by their slots. It keeps them alive.
struct TimerSlots: ~Copyable {
  private var timers = Slab<Unretained<Loop.Timer>>()
  /// Which arming a timer's entry in a queue is of; 0 while it is in none. Beside the timers and
  /// not in them, so that dead entries are found without a look at where each timer lies.
  private var armings = Slab<UInt32>()
  private var free = Slab<Int32>()

  deinit { for index in 0..<timers.count { timers[index].with { _ in timers[index].release() } } }

  @inline(__always)
  mutating func insert(_ timer: Loop.Timer) -> Int32 {
    let timer = Unretained(timer)
    timer.retain()
    if !free.isEmpty {
      let slot = free.removeLast()
      timers[Int(slot)] = timer
      return slot
    }
    timers.append(timer)
    armings.append(0)
    return Int32(timers.count - 1)
  }

  /// Lets go of the timer of a slot.
  @inline(__always)
  mutating func remove(_ slot: Int32) {
    let timer = timers[Int(slot)]
    timers[Int(slot)] = Unretained(nil)
    free.append(slot)
    timer.release()
  }

  /// All of them, in no order. O(n).
  var all: [Loop.Timer] { (0..<timers.count).compactMap { timers[$0].value } }

  // MARK: Their armings

  @inline(__always)
  func isArmed(_ timer: Loop.Timer) -> Bool { armings[Int(timer.slot)] != 0 }

  @inline(__always)
  mutating func arm(_ timer: Loop.Timer, _ arming: UInt32) { armings[Int(timer.slot)] = arming }

  @inline(__always)
  mutating func disarm(_ timer: Loop.Timer) { armings[Int(timer.slot)] = 0 }

  // MARK: By their entries

  /// Whether an entry counts: its timer has not been taken out or armed anew since.
  @inline(__always)
  func own(_ entry: TimerEntry) -> Bool {
    armings[Int(entry.slot)] == entry.arming
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
    if own(entry) { timers[Int(entry.slot)].with { body($0) } }
  }
}
