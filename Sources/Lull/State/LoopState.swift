// SPDX-License-Identifier: Apache-2.0

/// All that a loop knows, touched on its thread only and without a lock.
///
/// It sits in a ``Box``: never hold an access to it across a callout.
struct LoopState: ~Copyable {
  var modes = ModeTable()
  var items = ItemSlots()
  /// Sources by object, since one may sit in several loops.
  var seats: [ObjectIdentifier: Loop.Seat] = [:]
  var timers = TimerQueues()
  var descriptors = DescriptorTable()
  var blocks = BlockQueue()
  var inbox = Inbox()
  var signals = SignalQueue()

  /// The mode of the innermost run.
  var mode: ModeTable.Index?
  /// Timers in their handlers, outermost first.
  var firing = Slab<Unretained<Loop.Timer>>()
  /// Empty; kept for their storage.
  var spareDue: [DueTimer] = []
  var spareFound: [TimerQueues.Due] = []
  var spareReady: [ReadyEvent] = []
  var spareObservers = Slab<Unretained<Loop.Observer>>()
  /// Runs so far: whoever called out and finds it changed knows that a nested run took place.
  var runs = 0
  /// Runs and turns on the stack.
  var active = 0
  /// A run whose host waits for it.
  var stay: Stay?
  /// When it wants its next turn, on the two clocks.
  var armed = (deadline: Int64.max, continuous: Int64.max)
  /// When the host wants its thread back; `Int64.max` while the loop has it for itself.
  var turnEnds = Int64.max
  /// Who carries the outermost runs, in tests; else they carry themselves.
  var host: (any Loop.Host)?
  /// Whether to spin before a sleep, where that has been chosen.
  var spin: SpinPolicy?
  /// How long before timers' dates to wake, in nanoseconds.
  var timerLead: Int64 = 0
  /// The date of a timer for which a wait has ended a moment before.
  var awaitedDate = Int64.min
  var isDrainingMainQueue = false
  /// The thread has ended: nothing is taken any more.
  var isOver = false
  var watchesMainQueue = false
  var trace: (any Loop.TraceSink)?
  private var added: UInt64 = 0

  /// The next place in the order of additions.
  mutating func nextSequence() -> UInt64 {
    added += 1
    return added
  }
}

/// A timer whose turn it is in a pass. It is kept alive until then.
struct DueTimer {
  let timer: Unretained<Loop.Timer>
  let sequence: UInt64
  /// When it was due, on the loop's own clock.
  let deadline: Int64
  /// The same on its own clock.
  let ownDeadline: Int64
  /// When it was found due, on the loop's own clock.
  let now: Int64
}

/// The items of a loop but for timers and sources, each at a slot of its own.
struct ItemSlots: ~Copyable {
  private var items = Slab<Loop.Item?>()
  private var free = Slab<Int32>()

  mutating func insert(_ item: Loop.Item) -> Int32 {
    if !free.isEmpty {
      let slot = free.removeLast()
      items[Int(slot)] = item
      return slot
    }
    items.append(item)
    return Int32(items.count - 1)
  }

  /// Lets go of the item of a slot.
  mutating func remove(_ slot: Int32) {
    free.append(slot)
    _ = items[Int(slot)].take()
  }

  /// All of them, in no order. O(n).
  var all: [Loop.Item] { (0..<items.count).compactMap { items[$0] } }
}
