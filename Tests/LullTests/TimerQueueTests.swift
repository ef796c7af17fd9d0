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
    queues.insert(5, deadline: 10, sequence: 1, tolerance: 0, into: key)
    queues.remove(5)
    queues.remove(5)
    #expect(queues.queueCount == 1)
    #expect(queues.first(of: 0) == nil)
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
        Int32(slot), deadline: Int64(10 - slot), sequence: UInt64(slot), tolerance: 0, into: key)
    }
    #expect(queues.queueCount == 3)
    #expect((0..<3).map { queues.first(of: $0) } == [3, 1, 2])
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `agree with a sorted list, whatever is put in and taken out`(seed: UInt64) {
    var random = Seeded(state: seed)
    var queues = TimerQueues()
    var model: [Int32: (deadline: Int64, sequence: UInt64, tolerance: Int64)] = [:]
    for sequence in 1...4000 as ClosedRange<UInt64> {
      let slot = Int32.random(in: 0..<200, using: &random)
      queues.remove(slot)
      model[slot] = nil
      if Int.random(in: 0..<4, using: &random) > 0 {
        let deadline = Int64.random(in: 0..<50, using: &random)
        let tolerance = max(0, Int64.random(in: -20..<20, using: &random))
        queues.insert(
          slot, deadline: deadline, sequence: sequence, tolerance: tolerance, into: key)
        model[slot] = (deadline, sequence, tolerance)
      }
      guard queues.queueCount > 0 else { continue }
      let first = model.min {
        ($0.value.deadline, $0.value.sequence) < ($1.value.deadline, $1.value.sequence)
      }
      #expect(queues.first(of: 0) == first?.key)
      #expect(queues.firstDeadline(of: 0) == first?.value.deadline)
      #expect(
        queues.latestWake(of: 0) == model.values.map { $0.deadline + $0.tolerance }.min())
      let now = Int64.random(in: 0..<50, using: &random)
      var due: [TimerQueues.Due] = []
      queues.collectDue(at: now, from: 0, into: &due)
      #expect(
        Set(due.map(\.slot)) == Set(model.filter { $0.value.deadline <= now }.map(\.key)))
    }
  }

  @Test func `with a tolerance beyond the end of time wait to the end`() {
    var queues = TimerQueues()
    queues.insert(0, deadline: 10, sequence: 1, tolerance: .max, into: key)
    #expect(queues.latestWake(of: 0) == .max)
    queues.insert(1, deadline: .max, sequence: 2, tolerance: 5, into: key)
    #expect(queues.latestWake(of: 0) == .max)
    queues.insert(2, deadline: 20, sequence: 3, tolerance: 0, into: key)
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
