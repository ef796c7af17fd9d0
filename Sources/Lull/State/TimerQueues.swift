// SPDX-License-Identifier: Apache-2.0

/// When timers are due: one queue per set of modes and clock, so that a timer in five modes is
/// queued once and a run looks only at the queues its mode takes part in.
///
/// A queue is a four-way heap of plain entries; a timer is known by its slot, and its place in a
/// heap is kept beside, so that re-arming and cancelling take O(log *n*).
struct TimerQueues: ~Copyable {
  typealias Slot = Int32

  /// A queue's name: the modes that serve it, and its clock.
  struct Key: Hashable {
    let modes: ModeTable.SetID
    let base: Loop.TimeBase
  }

  private struct Entry {
    let deadline: Int64
    let sequence: UInt64
    let slot: Slot

    @inline(__always)
    func precedes(_ other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
    }
  }

  private struct Place {
    var queue: Int32 = -1
    var position: Int32 = -1
    /// How much later than its deadline the timer may fire.
    var tolerance: Int64 = 0
  }

  private struct Queue {
    let key: Key
    var heap: [Entry] = []
    /// Timers with a tolerance: while there are none, the first entry alone decides the wait.
    var tolerant = 0
  }

  private var queues: [Queue] = []
  private var queueOf: [Key: Int32] = [:]
  private var places: [Place] = []

  /// Puts a timer into the queue of `key`; it must be in none.
  mutating func insert(
    _ slot: Slot, deadline: Int64, sequence: UInt64, tolerance: Int64, into key: Key
  ) {
    while places.count <= Int(slot) { places.append(Place()) }
    assert(places[Int(slot)].queue < 0, "timer \(slot) is queued already")
    let queue = index(of: key)
    places[Int(slot)] = Place(
      queue: queue, position: Int32(queues[Int(queue)].heap.count), tolerance: tolerance)
    if tolerance > 0 { queues[Int(queue)].tolerant += 1 }
    queues[Int(queue)].heap.append(Entry(deadline: deadline, sequence: sequence, slot: slot))
    siftUp(queue, queues[Int(queue)].heap.count - 1)
  }

  /// Takes a timer out of its queue, if it is in one.
  mutating func remove(_ slot: Slot) {
    guard Int(slot) < places.count, places[Int(slot)].queue >= 0 else { return }
    let place = places[Int(slot)]
    places[Int(slot)] = Place()
    if place.tolerance > 0 { queues[Int(place.queue)].tolerant -= 1 }
    let last = queues[Int(place.queue)].heap.removeLast()
    let position = Int(place.position)
    guard position < queues[Int(place.queue)].heap.count else { return }
    put(last, at: position, in: place.queue)
    siftUp(place.queue, position)
    siftDown(place.queue, Int(places[Int(last.slot)].position))
  }

  var queueCount: Int { queues.count }
  func key(of queue: Int32) -> Key { queues[Int(queue)].key }

  /// When the first timer of a queue is due.
  @inline(__always)
  func firstDeadline(of queue: Int32) -> Int64? { queues[Int(queue)].heap.first?.deadline }

  /// The timer of a queue that is due first.
  func first(of queue: Int32) -> Slot? { queues[Int(queue)].heap.first?.slot }

  /// By when a loop must wake for a queue: the earliest deadline plus tolerance.
  ///
  /// Timers due before that moment wait for it, so one wake-up serves them all. Only entries that
  /// are due before the best so far can better it, so few are looked at.
  func latestWake(of queue: Int32) -> Int64? {
    let heap = queues[Int(queue)].heap
    guard let first = heap.first else { return nil }
    guard queues[Int(queue)].tolerant > 0 else { return first.deadline }
    var best = Int64.max
    var open = [0]
    while let position = open.popLast() {
      let entry = heap[position]
      guard entry.deadline < best else { continue }
      best = min(best, entry.deadline.addingClamped(places[Int(entry.slot)].tolerance))
      open.append(contentsOf: children(of: position, count: heap.count))
    }
    return best
  }

  /// A timer that has come due.
  struct Due {
    let deadline: Int64
    let sequence: UInt64
    let slot: Slot
  }

  /// Appends the timers of a queue due at `now`, which stay queued. O(those found).
  func collectDue(at now: Int64, from queue: Int32, into due: inout [Due]) {
    let heap = queues[Int(queue)].heap
    guard let first = heap.first, first.deadline <= now else { return }
    var open = [0]
    while let position = open.popLast() {
      let entry = heap[position]
      guard entry.deadline <= now else { continue }
      due.append(Due(deadline: entry.deadline, sequence: entry.sequence, slot: entry.slot))
      open.append(contentsOf: children(of: position, count: heap.count))
    }
  }

  // MARK: The heap

  private func children(of position: Int, count: Int) -> Range<Int> {
    let first = 4 * position + 1
    return first < count ? first..<min(first + 4, count) : 0..<0
  }

  private mutating func index(of key: Key) -> Int32 {
    if let index = queueOf[key] { return index }
    let index = Int32(queues.count)
    queues.append(Queue(key: key))
    queueOf[key] = index
    return index
  }

  @inline(__always)
  private mutating func put(_ entry: Entry, at position: Int, in queue: Int32) {
    queues[Int(queue)].heap[position] = entry
    places[Int(entry.slot)].position = Int32(position)
  }

  private mutating func siftUp(_ queue: Int32, _ start: Int) {
    let entry = queues[Int(queue)].heap[start]
    var position = start
    while position > 0 {
      let parent = (position - 1) / 4
      let above = queues[Int(queue)].heap[parent]
      guard entry.precedes(above) else { break }
      put(above, at: position, in: queue)
      position = parent
    }
    put(entry, at: position, in: queue)
  }

  private mutating func siftDown(_ queue: Int32, _ start: Int) {
    let count = queues[Int(queue)].heap.count
    let entry = queues[Int(queue)].heap[start]
    var position = start
    while true {
      let below = children(of: position, count: count)
      guard var least = below.first else { break }
      for child in below.dropFirst()
      where queues[Int(queue)].heap[child].precedes(queues[Int(queue)].heap[least]) {
        least = child
      }
      let next = queues[Int(queue)].heap[least]
      guard next.precedes(entry) else { break }
      put(next, at: position, in: queue)
      position = least
    }
    put(entry, at: position, in: queue)
  }
}
