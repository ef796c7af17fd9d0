// SPDX-License-Identifier: Apache-2.0

import Lull
import Testing

@Suite struct `Timer queues` {
  private let key = TimerQueues.Key(modes: 1, base: .suspending)

  /// A generator with a known beginning, so that a failure can be repeated.
  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  @Test func `have nothing to say at first`() {
    var queues = TimerQueues()
    #expect(queues.queueCount == 0)
    let timer = timer(at: 10, in: &queues)
    queues.remove(timer, from: key)
    queues.insert(timer, into: key)
    queues.remove(timer, from: key)
    queues.remove(timer, from: key)
    #expect(queues.queueCount == 1)
    #expect(firsts(of: 0, in: &queues) == [])
    #expect(queues.firstDeadline(of: 0) == nil)
    #expect(queues.latestWake(of: 0) == nil)
  }

  @Test func `are one for each set of modes and clock`() {
    var queues = TimerQueues()
    let keys = [
      key, TimerQueues.Key(modes: 2, base: .suspending),
      TimerQueues.Key(modes: 1, base: .continuous), key,
    ]
    let timers = [10, 9, 8, 7].map { timer(at: $0, in: &queues) }
    for (timer, key) in zip(timers, keys) { queues.insert(timer, into: key) }
    #expect(queues.queueCount == 3)
    #expect((0..<3).map { firsts(of: $0, in: &queues) } == [[7], [9], [8]])
  }

  /// A timer that is known to the queues and in none of them.
  private func timer(
    at deadline: Int64, tolerance: Int64 = 0, in queues: inout TimerQueues
  ) -> Loop.Timer {
    let timer = Loop.Timer(at: .distantFuture, tolerance: .nanoseconds(tolerance)) { _ in }
    timer.set(deadline, deadline: deadline)
    queues.adopt(timer)
    return timer
  }

  /// Dates from the next nanosecond to the next century, a few of them equal.
  private func date(after now: Int64, _ random: inout Seeded) -> Int64 {
    let reach = Int64(1) << Int64.random(in: 0..<62, using: &random)
    return now + (Bool.random(using: &random) ? reach : Int64.random(in: 0...reach, using: &random))
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `agree with a sorted list, whatever is put in, put off and taken out`(seed: UInt64) {
    var random = Seeded(state: seed)
    var queues = TimerQueues()
    var queued: [Int: (deadline: Int64, wake: Int64)] = [:]
    var now = Int64.random(in: 0..<(1 << 45), using: &random)
    var timers = (0..<(seed % 2 == 0 ? 3000 : 20)).map { _ in timer(at: 0, in: &queues) }
    for _ in 1...6000 {
      let index = timers.indices.randomElement(using: &random)!
      switch Int.random(in: 0..<9, using: &random) {
      case 0:
        queues.remove(timers[index], from: key)
        queued[index] = nil
      case 1:
        let former = timers[index].due
        let deadline = date(after: queued[index]?.deadline ?? now, &random) & (.max >> 1)
        timers[index].set(deadline, deadline: deadline)
        queues.rearm(timers[index], from: former, in: key)
        if let old = queued[index] {
          queued[index] = (deadline, deadline + old.wake - old.deadline)
        }
      case 2:
        now += Int64(1) << Int64.random(in: 0..<40, using: &random)
      case 3:
        // Its slot goes to another.
        queues.remove(timers[index], from: key)
        queues.release(timers[index])
        queued[index] = nil
        timers[index] = timer(at: now, in: &queues)
      default:
        queues.remove(timers[index], from: key)
        let deadline = date(after: now, &random)
        let tolerance = max(0, Int64.random(in: -2_000_000..<1_000_000, using: &random))
        timers[index].set(deadline, deadline: deadline)
        timers[index].tolerance = .nanoseconds(tolerance)
        queues.insert(timers[index], into: key)
        queued[index] = (deadline, deadline + tolerance)
      }
      guard queues.queueCount > 0 else { continue }
      let first = queued.values.map(\.deadline).min()
      #expect(queues.firstDeadline(of: 0) == first)
      #expect(queues.latestWake(of: 0) == queued.values.map(\.wake).min())
      #expect(
        firsts(of: 0, in: &queues) == queued.values.map(\.deadline).filter { $0 == first })
      var due: [TimerQueues.Due] = []
      let end = queues.collectDue(
        at: now, armedBy: queues.latestArming, from: 0, into: &due)
      let expected = queued.filter { $0.value.deadline <= end }
      // Not all at once only where they are very many, and then the first of them at least.
      #expect(end == now || end < now && expected.count >= 1)
      #expect(end == now || queued.count > 200)
      #expect(
        Set(due.map { ObjectIdentifier($0.timer.value!) })
          == Set(expected.keys.map { ObjectIdentifier(timers[$0]) }))
      #expect(due.map(\.deadline).sorted() == expected.values.map(\.deadline).sorted())
      for index in expected.keys.sorted() where Bool.random(using: &random) {
        queues.remove(timers[index], from: key)
        queued[index] = nil
      }
    }
  }

  private func firsts(of queue: Int32, in queues: inout TimerQueues) -> [Int64] {
    var found: [TimerQueues.Due] = []
    queues.collectFirst(from: queue, into: &found)
    return found.map(\.deadline)
  }

  @Test func `with a tolerance beyond the end of time wait to the end`() {
    var queues = TimerQueues()
    queues.insert(timer(at: 10, tolerance: .max, in: &queues), into: key)
    #expect(queues.latestWake(of: 0) == .max)
    queues.insert(timer(at: .max, tolerance: 5, in: &queues), into: key)
    #expect(queues.latestWake(of: 0) == .max)
    queues.insert(timer(at: 20, in: &queues), into: key)
    #expect(queues.latestWake(of: 0) == 20)
  }
}

@Suite struct `Mode sets` {
  @Test(arguments: [[], [0], [63], [64], [0, 63, 64, 127, 128, 999], Array(0..<200)])
  func `have the members they were given`(members: [Int]) {
    var set = ModeSet()
    for member in members.reversed() { set.insert(member) }
    #expect(set.members == members)
    for member in 0..<1100 { #expect(set.contains(member) == members.contains(member)) }
  }

  @Test func `are equal when their members are, whatever they had before`() {
    var large = ModeSet()
    for member in [3, 70, 500] { large.insert(member) }
    large.remove(500)
    large.remove(501)
    large.remove(70)
    var small = ModeSet()
    small.insert(3)
    #expect(large == small && large.hashValue == small.hashValue)
    large.remove(3)
    #expect(large == ModeSet())
    large.insert(64)
    #expect(large != small && large.members == [64])
  }
}
