// SPDX-License-Identifier: Apache-2.0

/// When timers are due: one queue per set of modes and clock, so that a timer in five modes is
/// queued once and a run looks only at the queues its mode takes part in.
///
/// A timer is known by its slot. What it is due for stands there; the entries in the queues follow
/// lazily. One whose timer was taken out, or has an earlier date now, is dropped when it is met;
/// one that was put off is moved on when it is met. So cancelling and putting off touch nothing
/// but the slot.
package struct TimerQueues: ~Copyable {
  package typealias Slot = Int32

  /// A queue's name: the modes that serve it, and its clock.
  package struct Key: Equatable {
    let modes: ModeTable.SetID
    let base: Loop.TimeBase

    package init(modes: ModeTable.SetID, base: Loop.TimeBase) {
      self.modes = modes
      self.base = base
    }
  }

  /// What is true of a timer, whatever entries say.
  struct Place {
    var deadline: Int64 = 0
    /// Itself; the loop's items keep it alive.
    var timer = Unretained<Loop.Timer>(nil)
    /// How much later it may fire.
    var tolerance: Int64 = 0
    /// Which arming its entry is of.
    var arming: UInt32 = 0
    var queue: Int32 = -1

    @inline(__always)
    func owns(_ entry: TimerEntry) -> Bool { arming == entry.arming && queue >= 0 }
  }

  private var queues = Slab<Queue>()
  /// By mode set and clock; -1 where there is none.
  private var indexOf = Slab<Int32>()
  private var places = Slab<Place>()

  package init() {}

  /// Puts a timer into the queue of `key`; it must be in none.
  package mutating func insert(
    _ slot: Slot, _ timer: Loop.Timer? = nil, deadline: Int64, tolerance: Int64, into key: Key
  ) {
    while places.count <= Int(slot) { places.append(Place()) }
    assert(places[Int(slot)].queue < 0, "timer \(slot) is queued already")
    places[Int(slot)].timer = Unretained(timer)
    insert(slot, deadline: deadline, tolerance: tolerance, into: index(of: key))
  }

  @inline(__always)
  private mutating func insert(
    _ slot: Slot, deadline: Int64, tolerance: Int64, into queue: Int32
  ) {
    let arming = places[Int(slot)].arming &+ 1
    places[Int(slot)].deadline = deadline
    places[Int(slot)].tolerance = tolerance
    places[Int(slot)].arming = arming
    places[Int(slot)].queue = queue
    queues[Int(queue)].insert(
      TimerEntry(deadline: deadline, slot: slot, arming: arming), isTolerant: tolerance > 0)
  }

  /// Takes a timer out of its queue, if it is in one.
  package mutating func remove(_ slot: Slot) {
    guard Int(slot) < places.count else { return }
    let queue = places[Int(slot)].queue
    guard queue >= 0 else { return }
    places[Int(slot)].queue = -1
    queues[Int(queue)].entryDied(places)
  }

  /// Gives a timer that is in a queue another date.
  package mutating func rearm(_ slot: Slot, for deadline: Int64, tolerance: Int64) {
    guard Int(slot) < places.count, places[Int(slot)].queue >= 0 else { return }
    let place = places[Int(slot)]
    if place.deadline <= deadline, place.tolerance | tolerance == 0 {
      // Put off, it takes no more than saying so.
      return places[Int(slot)].deadline = deadline
    }
    places[Int(slot)].queue = -1
    queues[Int(place.queue)].entryDied(places)
    insert(slot, deadline: deadline, tolerance: tolerance, into: place.queue)
  }

  @inline(__always)
  package var queueCount: Int { queues.count }

  @inline(__always)
  func key(of queue: Int32) -> Key { queues[Int(queue)].key }

  /// When the first timer of a queue is due.
  @inline(__always)
  package mutating func firstDeadline(of queue: Int32) -> Int64? {
    if queues[Int(queue)].isEmpty { return nil }
    return queues[Int(queue)].firstDeadline(&places)
  }

  /// By when a loop must wake for a queue: the earliest deadline plus tolerance.
  ///
  /// Timers due before that moment wait for it, so one wake-up serves them all.
  @inline(__always)
  package mutating func latestWake(of queue: Int32) -> Int64? {
    if queues[Int(queue)].isEmpty { return nil }
    return queues[Int(queue)].latestWake(&places)
  }

  /// A timer that has come due.
  package struct Due {
    package let deadline: Int64
    package let slot: Slot
    let timer: Unretained<Loop.Timer>
  }

  /// Appends the timers of a queue due at `now`, which stay queued. O(those found).
  package mutating func collectDue(at now: Int64, from queue: Int32, into due: inout [Due]) {
    queues[Int(queue)].collectDue(at: now, &places, into: &due)
  }

  /// Appends those that are due first, all of one deadline.
  package mutating func collectFirst(from queue: Int32, into firsts: inout [Due]) {
    guard let first = firstDeadline(of: queue) else { return }
    queues[Int(queue)].collect(upTo: first, places, into: &firsts)
  }

  @inline(__always)
  private mutating func index(of key: Key) -> Int32 {
    let place = Int(key.modes) << 1 | (key.base == .continuous ? 1 : 0)
    if place < indexOf.count, indexOf[place] >= 0 { return indexOf[place] }
    return addQueue(key, at: place)
  }

  private mutating func addQueue(_ key: Key, at place: Int) -> Int32 {
    while indexOf.count <= place { indexOf.append(-1) }
    indexOf[place] = Int32(queues.count)
    queues.append(Queue(key: key))
    return indexOf[place]
  }
}

extension TimerQueues {
  /// The timers of one set of modes and one clock.
  struct Queue: ~Copyable {
    let key: Key
    /// What comes before all that is far off.
    private var near = TimerHeap()
    private var far = TimerWheel()
    /// Timers with a tolerance, for which the first is not all that matters.
    private var tolerant = TimerHeap()
    private var live = 0
    private var dead = 0
    private var latestNow: Int64 = 0

    init(key: Key) { self.key = key }

    @inline(__always)
    var isEmpty: Bool { live == 0 }

    @inline(__always)
    mutating func insert(_ entry: TimerEntry, isTolerant: Bool) {
      live += 1
      if isTolerant { return tolerant.insert(entry) }
      if far.isEmpty { far.advance(to: latestNow) }
      place(entry)
    }

    @inline(__always)
    private mutating func place(_ entry: TimerEntry) {
      if far.isNear(entry.deadline) { near.insert(entry) } else { far.insert(entry) }
    }

    /// Of the entries one counts no more. They go together when they are the most.
    @inline(__always)
    mutating func entryDied(_ places: borrowing Slab<Place>) {
      live -= 1
      dead += 1
      if dead > live + 64 { bury(places) }
    }

    @inline(never)
    private mutating func bury(_ places: borrowing Slab<Place>) {
      near.filter { places[Int($0.slot)].owns($0) }
      far.filter { places[Int($0.slot)].owns($0) }
      tolerant.filter { places[Int($0.slot)].owns($0) }
      dead = 0
    }

    mutating func firstDeadline(_ places: inout Slab<Place>) -> Int64? {
      let exact = firstExact(&places)
      dead -= Queue.dropDead(&tolerant, places)
      guard let first = tolerant.first else { return exact }
      return min(first.deadline, exact ?? .max)
    }

    mutating func latestWake(_ places: inout Slab<Place>) -> Int64? {
      let exact = firstExact(&places)
      dead -= Queue.dropDead(&tolerant, places)
      guard tolerant.count > 0 else { return exact }
      var best = exact ?? .max
      // Only what is due before the best so far can better it.
      tolerant.visit { entry in
        guard entry.deadline < best else { return false }
        let place = places[Int(entry.slot)]
        if place.owns(entry) { best = min(best, entry.deadline.addingClamped(place.tolerance)) }
        return true
      }
      return best
    }

    mutating func collectDue(at now: Int64, _ places: inout Slab<Place>, into due: inout [Due]) {
      latestNow = now
      while let next = far.nextBucket, next <= now { spread(far.takeNext(advances: true)) }
      near.visit { Queue.note($0, ifDueAt: now, places, in: &due) }
      tolerant.visit { Queue.note($0, ifDueAt: now, places, in: &due) }
    }

    /// The same for a moment to come, up to the first deadline; time stays where it is.
    func collect(
      upTo first: Int64, _ places: borrowing Slab<Place>, into due: inout [Due]
    ) {
      near.visit { Queue.note($0, ifDueAt: first, places, in: &due) }
      tolerant.visit { Queue.note($0, ifDueAt: first, places, in: &due) }
      guard near.count == 0 else { return }
      for index in 0..<far.nextCount {
        _ = Queue.note(far[index], ifDueAt: first, places, in: &due)
      }
    }

    /// Whether there may be more below.
    @inline(__always)
    private static func note(
      _ entry: TimerEntry, ifDueAt now: Int64, _ places: borrowing Slab<Place>,
      in due: inout [Due]
    ) -> Bool {
      guard entry.deadline <= now else { return false }
      let place = places[Int(entry.slot)]
      if place.owns(entry), place.deadline <= now {
        due.append(Due(deadline: place.deadline, slot: entry.slot, timer: place.timer))
      }
      return true
    }

    // MARK: The first

    private mutating func firstExact(_ places: inout Slab<Place>) -> Int64? {
      while true {
        dead -= Queue.dropDead(&near, places)
        if let first = near.first {
          let deadline = places[Int(first.slot)].deadline
          if deadline == first.deadline { return deadline }
          // It was put off.
          near.removeFirst()
          place(TimerEntry(deadline: deadline, slot: first.slot, arming: first.arming))
        } else if far.isEmpty {
          return nil
        } else if far.nextCount <= Queue.few {
          if let first = firstOfFew(places) { return first }
          straighten(far.takeNext(advances: false), places)
        } else {
          spread(far.takeNext(advances: true))
        }
      }
    }

    /// A bucket of so few stays whole until its time has come, so that near stays near.
    private static let few = 4

    /// The first of the next bucket; nil if one of its entries does not lie where it should.
    private func firstOfFew(_ places: borrowing Slab<Place>) -> Int64? {
      var first = Int64.max
      for index in 0..<far.nextCount {
        let entry = far[index]
        let place = places[Int(entry.slot)]
        guard place.owns(entry), place.deadline == entry.deadline else { return nil }
        first = min(first, entry.deadline)
      }
      return first
    }

    /// Puts entries where they belong at this time. Their timers are not looked at: in their many
    /// places they would cost more than all the rest.
    private mutating func spread(_ entries: consuming Slab<TimerEntry>) {
      for index in 0..<entries.count { place(entries[index]) }
      far.reuse(entries)
    }

    /// Puts entries where they belong by their timers' dates.
    private mutating func straighten(
      _ entries: consuming Slab<TimerEntry>, _ places: borrowing Slab<Place>
    ) {
      for index in 0..<entries.count {
        let entry = entries[index]
        guard places[Int(entry.slot)].owns(entry) else {
          dead -= 1
          continue
        }
        place(
          TimerEntry(
            deadline: places[Int(entry.slot)].deadline, slot: entry.slot, arming: entry.arming))
      }
      far.reuse(entries)
    }

    /// Frees the top of a heap from entries that do not count; how many there were.
    private static func dropDead(_ heap: inout TimerHeap, _ places: borrowing Slab<Place>) -> Int {
      let before = heap.count
      while let first = heap.first, !places[Int(first.slot)].owns(first) {
        heap.removeFirst()
        // After a burst most are dead, and go for less together.
        let dropped = before - heap.count
        if dropped == 8, before < 512 { heap.filter { places[Int($0.slot)].owns($0) } }
      }
      return before - heap.count
    }
  }
}
