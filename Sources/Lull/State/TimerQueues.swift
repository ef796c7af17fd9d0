// SPDX-License-Identifier: Apache-2.0

/// A loop's timers, and when they are due: one queue per set of modes and clock, so that a timer in
/// five modes is queued once and a run looks only at the queues its mode takes part in.
///
/// Each timer has a slot here. What it is due for stands in the timer itself; the entries in the
/// queues follow lazily. One whose timer was taken out, or has an earlier date now, is dropped when
/// it is met; one that was put off is moved on when it is met. So cancelling and putting off touch
/// nothing but the timer.
package struct TimerQueues: ~Copyable {
  /// A queue's name: the modes that serve it, and its clock.
  package struct Key: Equatable {
    let modes: ModeTable.SetID
    let base: Loop.TimeBase

    package init(modes: ModeTable.SetID, base: Loop.TimeBase) {
      self.modes = modes
      self.base = base
    }
  }

  private var timers = TimerSlots()
  private var queues = Slab<Queue>()
  /// By mode set and clock; -1 where there is none.
  private var indexOf = Slab<Int32>()
  /// Counts armings. An entry that counts no more is buried long before a number comes again.
  private var armings: UInt32 = 0

  package init() {}

  // MARK: Whose timers they are

  /// Keeps a timer, and gives it a slot.
  @inline(__always)
  package mutating func adopt(_ timer: Loop.Timer) { timer.slot = timers.insert(timer) }

  /// Lets go of a timer that is in no queue.
  @inline(__always)
  package mutating func release(_ timer: Loop.Timer) {
    let slot = timer.slot
    timer.slot = -1
    timers.remove(slot)
  }

  /// All of them, in no order. O(n).
  var all: [Loop.Timer] { timers.all }

  // MARK: In and out

  /// Puts a timer of this loop into the queue of `key`; it must be in none.
  @inline(__always)
  package mutating func insert(_ timer: Loop.Timer, into key: Key) {
    assert(!timers.isArmed(timer), "\(timer) is queued already")
    insert(timer, into: index(of: key))
  }

  @inline(__always)
  private mutating func insert(_ timer: Loop.Timer, into queue: Int) {
    armings = armings == .max ? 1 : armings + 1
    timers.arm(timer, armings)
    queues[queue].insert(
      TimerEntry(
        deadline: timer.due, slot: timer.slot, arming: armings),
      isTolerant: timer.isTolerant)
  }

  /// Takes a timer out of the queue of `key`, if it is in that.
  @inline(__always)
  package mutating func remove(_ timer: Loop.Timer, from key: Key) {
    guard timers.isArmed(timer) else { return }
    timers.disarm(timer)
    queues[index(of: key)].entryDied(timers)
  }

  /// A timer in the queue of `key` is due at another time now than at `former`.
  @inline(__always)
  package mutating func rearm(_ timer: Loop.Timer, from former: Int64, in key: Key) {
    // Put off, it takes no more than having said so.
    guard timer.due < former, timers.isArmed(timer) else { return }
    let queue = index(of: key)
    queues[queue].entryDied(timers)
    insert(timer, into: queue)
  }

  // MARK: What is due

  @inline(__always)
  package var queueCount: Int { queues.count }

  @inline(__always)
  func key(of queue: Int32) -> Key { queues[Int(queue)].key }

  /// When the first timer of a queue is due.
  @inline(__always)
  package mutating func firstDeadline(of queue: Int32) -> Int64? {
    queues[Int(queue)].isEmpty ? nil : queues[Int(queue)].firstDeadline(timers)
  }

  /// By when a loop must wake for a queue: the earliest deadline plus tolerance.
  ///
  /// Timers due before that moment wait for it, so one wake-up serves them all.
  @inline(__always)
  package mutating func latestWake(of queue: Int32) -> Int64? {
    queues[Int(queue)].isEmpty ? nil : queues[Int(queue)].latestWake(timers)
  }

  /// A timer that has come due.
  package struct Due {
    /// Itself, since its slot may be another's by the time of its turn.
    package let timer: Unretained<Loop.Timer>
    package let deadline: Int64
  }

  /// The number of the latest arming.
  package var latestArming: UInt32 { armings }

  /// Appends the timers of a queue due at `now`, which stay queued; where there are very many, the
  /// first of them. O(those found).
  ///
  /// - Parameter arming: Those that were armed later for that very moment are left out.
  /// - Returns: The moment by which these are all that are due: `now`, or one before.
  package mutating func collectDue(
    at now: Int64, armedBy arming: UInt32, from queue: Int32, into due: inout [Due]
  ) -> Int64 {
    queues[Int(queue)].collectDue(at: now, armedBy: arming, timers, into: &due)
  }

  /// Appends those that are due first, all of one deadline.
  package mutating func collectFirst(from queue: Int32, into firsts: inout [Due]) {
    guard let first = firstDeadline(of: queue) else { return }
    queues[Int(queue)].collect(upTo: first, timers, into: &firsts)
  }

  @inline(__always)
  private mutating func index(of key: Key) -> Int {
    let place = Int(key.modes) << 1 | (key.base == .continuous ? 1 : 0)
    if place < indexOf.count, indexOf[place] >= 0 { return Int(indexOf[place]) }
    return addQueue(key, at: place)
  }

  @inline(never)
  private mutating func addQueue(_ key: Key, at place: Int) -> Int {
    while indexOf.count <= place { indexOf.append(-1) }
    indexOf[place] = Int32(queues.count)
    queues.append(Queue(key: key))
    return queues.count - 1
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
    mutating func entryDied(_ timers: borrowing TimerSlots) {
      live -= 1
      dead += 1
      if dead > live + 64 { bury(timers) }
    }

    @inline(never)
    private mutating func bury(_ timers: borrowing TimerSlots) {
      near.filter { timers.own($0) }
      far.filter { timers.own($0) }
      tolerant.filter { timers.own($0) }
      dead = 0
    }

    mutating func firstDeadline(_ timers: borrowing TimerSlots) -> Int64? {
      let exact = firstExact(timers)
      guard tolerant.count > 0, let first = firstTolerant(timers) else { return exact }
      return min(first, exact ?? .max)
    }

    mutating func latestWake(_ timers: borrowing TimerSlots) -> Int64? {
      let exact = firstExact(timers)
      guard tolerant.count > 0, firstTolerant(timers) != nil else { return exact }
      var best = exact ?? .max
      // Only what is due before the best so far can better it.
      tolerant.visit { entry in
        guard entry.deadline < best else { return false }
        timers.with(entry) { best = min(best, $0.latestFire) }
        return true
      }
      return best
    }

    mutating func collectDue(
      at now: Int64, armedBy arming: UInt32, _ timers: borrowing TimerSlots,
      into due: inout [Due]
    ) -> Int64 {
      latestNow = now
      var end = now
      while let next = far.nextBucket, next <= now {
        if near.count >= Queue.enough {
          end = next - 1
          break
        }
        bringNear(timers)
      }
      let last = end
      near.visit {
        $0.deadline == now && $0.isLater(than: arming)
          || Queue.note($0, ifDueAt: last, timers, in: &due)
      }
      tolerant.visit {
        $0.deadline == now && $0.isLater(than: arming)
          || Queue.note($0, ifDueAt: last, timers, in: &due)
      }
      return last
    }

    /// So many due timers are enough at once: they are looked at twice, and more than these would
    /// have left the cache between.
    private static let enough = 256

    /// The same for a moment to come, up to the first deadline; time stays where it is.
    func collect(upTo first: Int64, _ timers: borrowing TimerSlots, into due: inout [Due]) {
      near.visit { Queue.note($0, ifDueAt: first, timers, in: &due) }
      tolerant.visit { Queue.note($0, ifDueAt: first, timers, in: &due) }
      guard near.count == 0 else { return }
      for index in 0..<far.nextCount {
        _ = Queue.note(far[index], ifDueAt: first, timers, in: &due)
      }
    }

    /// Whether there may be more below.
    @inline(__always)
    private static func note(
      _ entry: TimerEntry, ifDueAt now: Int64, _ timers: borrowing TimerSlots,
      in due: inout [Due]
    ) -> Bool {
      guard entry.deadline <= now else { return false }
      timers.with(entry) { timer in
        let deadline = timer.due
        if deadline <= now { due.append(Due(timer: Unretained(timer), deadline: deadline)) }
      }
      return true
    }

    // MARK: The first

    private mutating func firstExact(_ timers: borrowing TimerSlots) -> Int64? {
      while true {
        if let first = near.first {
          guard let deadline = timers.deadline(of: first) else {
            dead -= Queue.dropDead(&near, timers)
            continue
          }
          if deadline == first.deadline { return deadline }
          // It was put off.
          near.removeFirst()
          place(first.moved(to: deadline))
        } else if far.isEmpty {
          return nil
        } else if far.nextCount <= Queue.few {
          if let first = firstOfFew(timers) { return first }
          straighten(far.takeNext(advances: false), timers)
        } else {
          bringNear(timers)
        }
      }
    }

    private mutating func firstTolerant(_ timers: borrowing TimerSlots) -> Int64? {
      while let first = tolerant.first {
        guard let deadline = timers.deadline(of: first) else {
          dead -= Queue.dropDead(&tolerant, timers)
          continue
        }
        if deadline == first.deadline { return deadline }
        tolerant.removeFirst()
        tolerant.insert(first.moved(to: deadline))
      }
      return nil
    }

    /// A bucket of so few stays whole until its time has come, so that near stays near.
    private static let few = 4

    /// The first of the next bucket; nil if one of its entries does not lie where it should.
    private func firstOfFew(_ timers: borrowing TimerSlots) -> Int64? {
      var first = Int64.max
      for index in 0..<far.nextCount {
        let entry = far[index]
        guard timers.deadline(of: entry) == entry.deadline else { return nil }
        first = min(first, entry.deadline)
      }
      return first
    }

    /// Time goes on to the next bucket, whose entries become near unless it is of a coarse level.
    private mutating func bringNear(_ timers: borrowing TimerSlots) {
      let isFinest = far.nextIsFinest
      let entries = far.takeNext(advances: true)
      // Their time has come, or will soon.
      if isFinest { timers.prefetch(entries) }
      spread(entries)
    }

    /// Puts entries where they belong at this time. Their timers are not looked at: in their many
    /// places they would cost more than all the rest.
    private mutating func spread(_ entries: consuming Slab<TimerEntry>) {
      for index in 0..<entries.count { place(entries[index]) }
      far.reuse(entries)
    }

    /// Puts entries where they belong by their timers' dates.
    private mutating func straighten(
      _ entries: consuming Slab<TimerEntry>, _ timers: borrowing TimerSlots
    ) {
      for index in 0..<entries.count {
        if let deadline = timers.deadline(of: entries[index]) {
          place(entries[index].moved(to: deadline))
        } else {
          dead -= 1
        }
      }
      far.reuse(entries)
    }

    /// Frees the top of a heap from entries that do not count; how many there were.
    private static func dropDead(
      _ heap: inout TimerHeap, _ timers: borrowing TimerSlots
    ) -> Int {
      let before = heap.count
      while let first = heap.first, !timers.own(first) {
        heap.removeFirst()
        // After a burst most are dead, and go for less together.
        let dropped = before - heap.count
        if dropped == 8, before < 1_024 { heap.filter { timers.own($0) } }
      }
      return before - heap.count
    }
  }
}
