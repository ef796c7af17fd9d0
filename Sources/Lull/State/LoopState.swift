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
  var firing: [Loop.Timer] = []
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

/// The items of a loop, each at a slot of its own.
struct ItemSlots: ~Copyable {
  private var items: [Loop.Item?] = []
  private var free: [Int32] = []

  mutating func insert(_ item: Loop.Item) -> Int32 {
    if let slot = free.popLast() {
      items[Int(slot)] = item
      return slot
    }
    items.append(item)
    return Int32(items.count - 1)
  }

  mutating func remove(_ slot: Int32) {
    items[Int(slot)] = nil
    free.append(slot)
  }

  subscript(slot: Int32) -> Loop.Item? { items[Int(slot)] }

  /// All of them, in no order. O(n).
  var all: [Loop.Item] { items.compactMap { $0 } }
}
