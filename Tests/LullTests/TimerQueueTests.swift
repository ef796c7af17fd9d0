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
    queues.remove(5)
    queues.insert(5, deadline: 10, tolerance: 0, into: key)
    queues.remove(5)
    queues.remove(5)
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
    for (slot, key) in keys.enumerated() {
      queues.insert(
        Int32(slot), deadline: Int64(10 - slot), tolerance: 0, into: key)
    }
    #expect(queues.queueCount == 3)
    #expect((0..<3).map { firsts(of: $0, in: &queues) } == [[3], [1], [2]])
  }

  private struct Timer {
    let deadline: Int64
    let tolerance: Int64
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
    var model: [Int32: Timer] = [:]
    var now = Int64.random(in: 0..<(1 << 45), using: &random)
    let slots = seed % 2 == 0 ? 3000 : 20 as Int32
    for _ in 1...6000 {
      let slot = Int32.random(in: 0..<slots, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0:
        queues.remove(slot)
        model[slot] = nil
      case 1:
        let deadline = date(after: model[slot]?.deadline ?? now, &random) & (.max >> 1)
        let tolerance = max(0, Int64.random(in: -100..<10, using: &random))
        queues.rearm(slot, for: deadline, tolerance: tolerance)
        if model[slot] != nil { model[slot] = Timer(deadline: deadline, tolerance: tolerance) }
      case 2:
        now += Int64(1) << Int64.random(in: 0..<40, using: &random)
      default:
        queues.remove(slot)
        let timer = Timer(
          deadline: date(after: now, &random),
          tolerance: max(0, Int64.random(in: -2_000_000..<1_000_000, using: &random)))
        queues.insert(slot, deadline: timer.deadline, tolerance: timer.tolerance, into: key)
        model[slot] = timer
      }
      guard queues.queueCount > 0 else { continue }
      let first = model.values.map(\.deadline).min()
      #expect(queues.firstDeadline(of: 0) == first)
      #expect(queues.latestWake(of: 0) == model.values.map { $0.deadline + $0.tolerance }.min())
      #expect(
        Set(firsts(of: 0, in: &queues)) == Set(model.filter { $0.value.deadline == first }.keys))
      var due: [TimerQueues.Due] = []
      queues.collectDue(at: now, from: 0, into: &due)
      #expect(due.map(\.slot).sorted() == model.filter { $0.value.deadline <= now }.keys.sorted())
      for timer in due {
        #expect(timer.deadline == model[timer.slot]?.deadline)
        if Bool.random(using: &random) {
          queues.remove(timer.slot)
          model[timer.slot] = nil
        }
      }
    }
  }

  private func firsts(of queue: Int32, in queues: inout TimerQueues) -> [Int32] {
    var found: [TimerQueues.Due] = []
    queues.collectFirst(from: queue, into: &found)
    return found.map(\.slot)
  }

  @Test func `with a tolerance beyond the end of time wait to the end`() {
    var queues = TimerQueues()
    queues.insert(0, deadline: 10, tolerance: .max, into: key)
    #expect(queues.latestWake(of: 0) == .max)
    queues.insert(1, deadline: .max, tolerance: 5, into: key)
    #expect(queues.latestWake(of: 0) == .max)
    queues.insert(2, deadline: 20, tolerance: 0, into: key)
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
