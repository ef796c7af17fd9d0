// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

/// Random programs for the queue, beside a model of what each item may come to.
@Suite struct `A queue of idle work and its model` {
  struct Oops: Error {}

  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  /// What is known of an item without looking into the queue.
  private struct Item {
    let work: IdleWork
    let key: Int
    let payload: Watched<Shared<Int>>
    var pieces = 0
    var ran = 0
    var end: String?
    var wasCancelled = false
    var owner: Int?
  }

  private final class Play: @unchecked Sendable {  // of one thread
    let loop: Loop
    let time: VirtualTime
    var random: Seeded
    var items: [Item] = []
    var owners: [IdleOwner?] = []
    var operations = 0
    var depth = 0
    let most: Int

    init(_ loop: Loop, _ time: VirtualTime, seed: UInt64, most: Int) {
      self.loop = loop
      self.time = time
      random = Seeded(state: seed)
      self.most = most
    }

    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    var options: IdleWork.Options {
      .init(
        priority: IdleWork.Priority.allCases[below(3)],
        maximumWait: .milliseconds(1 + below(2000)),
        cost: below(4) == 0 ? .microseconds(below(3000)) : nil,
        tracking: IdleWork.Tracking.allCases[below(3)],
        errorReach: below(20) == 0 ? IdleWork.ErrorReach.allCases[below(3)] : .item)
    }

    /// Adds an item of any form.
    func add() {
      let number = items.count
      let key = below(12)
      let payload = Shared(0)
      let pieces = below(3) == 0 ? below(4) : 1
      let onEnd: @Sendable (IdleWork.End) -> Void = { end in self.ended(number, name(end)) }
      // A refusal is told before the handle is there.
      var early: String?
      let watched = Watched(payload)
      let work: IdleWork
      pending = number
      switch below(3) {
      case 0:
        work = loop.idle.forEach(0..<pieces, key: key, options: options, onEnd: onEnd) { _, _ in
          _ = payload
          return try self.piece(number)
        }
      case 1:
        work = loop.idle.enqueue(payload, key: key, options: options, onEnd: onEnd) { _, payload in
          _ = payload
          return try self.piece(number)
        }
      default:
        work = loop.idle.perform(key: key, options: options, onEnd: onEnd) {
          _ = payload
          if try self.piece(number) == .stop { return .done }
          switch self.below(3) {
          case 0: return .more
          case 1:
            return .nothing(until: self.loop.now.advanced(by: .microseconds(self.below(5000))))
          default: return .done
          }
        }
      }
      early = refused
      refused = nil
      pending = nil
      items.append(Item(work: work, key: key, payload: watched, pieces: pieces, end: early))
      if below(5) == 0 {
        let owner = below(8)
        while owners.count <= owner { owners.append(nil) }
        if owners[owner] == nil { owners[owner] = IdleOwner() }
        items[number].owner = owner
        work.owned(by: owners[owner]!)
      }
    }

    private var pending: Int?
    private var refused: String?

    func ended(_ number: Int, _ end: String) {
      if number == items.count, pending == number {
        refused = end
        return
      }
      #expect(items[number].end == nil, "item \(number) ended twice")
      items[number].end = end
      if end == "finished" || end == "stopped" || end == "failed" {
        #expect(items[number].ran > 0 || items[number].pieces == 0)
      }
    }

    func piece(_ number: Int) throws -> IdleAnswer {
      #expect(items[number].end == nil, "item \(number) ran after its end")
      #expect(!items[number].wasCancelled, "item \(number) ran after it was cancelled")
      items[number].ran += 1
      depth += 1
      defer { depth -= 1 }
      #expect(depth <= 1, "a piece began inside another")
      time.advance(by: .microseconds(below(4000)))
      for _ in 0..<below(3) { operate() }
      switch below(20) {
      case 0: throw Oops()
      case 1: return .stop
      default: return .continue
      }
    }

    func operate() {
      operations += 1
      switch below(12) {
      case 0...4: if operations < most { add() }
      case 5, 6: if !items.isEmpty { cancel(below(items.count)) }
      case 7:
        if !items.isEmpty {
          items[below(items.count)].work.priority = IdleWork.Priority.allCases[below(3)]
        }
      case 8: if below(10) == 0 { cancelKey(below(12)) }
      case 9: if !owners.isEmpty { dropOwner(below(owners.count)) }
      case 10: loop.idle.limit = below(3) == 0 ? 1 + below(60) : .max
      default:
        loop.idle.overflow = IdleQueue.Overflow.allCases[below(4)]
        // Inside a piece no other begins.
        if depth > 0 { _ = loop.run(in: .default, for: .microseconds(below(500))) }
      }
    }

    func cancel(_ number: Int) {
      items[number].work.cancel()
      if items[number].end == nil { items[number].wasCancelled = true }
    }

    func cancelKey(_ key: Int) {
      loop.idle.cancel(key: key)
      for number in items.indices where items[number].key == key && items[number].end == nil {
        items[number].wasCancelled = true
      }
    }

    func dropOwner(_ owner: Int) {
      owners[owner] = nil
      for number in items.indices where items[number].owner == owner && items[number].end == nil {
        items[number].wasCancelled = true
      }
    }
  }

  @Test(arguments: 1...UInt64(8 * stress))
  func `agree, whatever is added, cancelled, raised, thrown, nested and let go`(seed: UInt64) {
    withVirtualLoop { loop, time in
      let play = Play(loop, time, seed: seed, most: 1200)
      loop.keepAlive()
      if seed % 2 == 0 {
        let frames = loop.schedule(every: .milliseconds(16)) { _ in
          time.advance(by: .milliseconds(4))
        }
        loop.idle.frameClock = FrameClock(following: frames)
      }
      while play.operations < 1200 {
        play.operate()
        if play.below(4) == 0 {
          _ = loop.run(in: .default, for: .milliseconds(play.below(40)))
        }
      }
      loop.idle.limit = .max
      // All that is left runs to its end.
      for _ in 0..<100 where loop.idle.count > 0 {
        _ = loop.run(in: .default, for: .seconds(100))
      }
      #expect(loop.idle.count == 0)
      for (number, item) in play.items.enumerated() {
        #expect(item.end != nil, "item \(number) never ended")
        #expect(name(item.work.end) == item.end)
        if item.wasCancelled, item.end != "cancelled" {
          // It ended in the piece in which it was cancelled.
          #expect(item.ran > 0, "item \(number): \(item.end ?? "")")
        }
        #expect(!item.payload.isAlive, "item \(number) keeps what it held")
      }
    }
  }
}
