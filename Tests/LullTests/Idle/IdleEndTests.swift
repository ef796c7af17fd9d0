// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Synchronization
import Testing

/// An end without its error, to compare.
func name(_ end: IdleWork.End?) -> String {
  switch end {
  case .finished?: "finished"
  case .stopped?: "stopped"
  case .cancelled?: "cancelled"
  case .failed?: "failed"
  case .dropped?: "dropped"
  case nil: "none"
  }
}

@Suite struct `Ends of idle work` {
  struct Oops: Error {}

  enum Way: String, CaseIterable { case finished, stopped, failed, cancelled, dropped }

  @Test(arguments: Way.allCases)
  func `come once, and free what the work held`(way: Way) {
    withVirtualLoop { loop, _ in
      let ends = Shared<[String]>([])
      var payload: Shared<Int>? = Shared(0)
      let watched = Watched(payload)
      loop.idle.limit = way == .dropped ? 0 : .max
      let work = loop.idle.forEach(
        0..<3, key: "key", onEnd: { end in ends.value.append("\(name(end)) \(watched.isAlive)") }
      ) { [payload] index, _ in
        _ = payload
        switch (index, way) {
        case (1, .stopped): return .stop
        case (1, .failed): throw Oops()
        case (1, .cancelled): loop.idle.cancel(key: "key")
        default: break
        }
        return .continue
      }
      payload = nil
      _ = loop.run()
      // What is refused is in its caller's hands still.
      #expect(ends.value == ["\(way.rawValue) \(way == .dropped)"])
      #expect(!watched.isAlive)
      #expect(name(work.end) == way.rawValue)
      work.cancel()
      _ = loop.run(in: .default, for: .zero)
      #expect(ends.value.count == 1 && loop.idle.count == 0)
    }
  }

  @Test func `of nothing to walk are finished`() {
    withVirtualLoop { loop, _ in
      let work = loop.idle.forEach([Int]()) { _, _ in .stop }
      #expect(loop.run() == .finished)
      #expect(name(work.end) == "finished")
      #expect(work.progress.done == 0 && work.progress.total == 0)
    }
  }

  @Test func `come when the loop's thread ends`() {
    let ends = Shared<[String]>([])
    let (work, loop) = withVirtualLoop { loop, _ in
      loop.idle.forEach(0..<3, onEnd: { end in ends.value.append(name(end)) }) { _, _ in .continue }
      let work = loop.idle.enqueue(0, key: 0, onEnd: { end in ends.value.append(name(end)) }) {
        _, _ in .continue
      }
      return (work, loop)
    }
    #expect(ends.value == ["dropped", "dropped"])
    #expect(name(work.end) == "dropped")
    // Too late: told at once.
    let late = loop.idle.forEach(0..<3, onEnd: { end in ends.value.append(name(end)) }) {
      _, _ in .continue
    }
    #expect(name(late.end) == "dropped" && ends.value.count == 3)
    #expect(loop.idle.count == 0)
  }

  // MARK: Cancelling

  @Test func `by cancel are honoured before the next piece, in the same pass`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let own = Shared<IdleWork?>(nil)
      own.value = loop.idle.forEach(0..<5) { index, _ in
        timeline.mark("\(index)")
        if index == 2 { own.value!.cancel() }
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "0 1 2")
      #expect(name(own.value!.end) == "cancelled")
      #expect(own.value!.progress.done == 3)
      own.value = nil
    }
  }

  // joyent/libuv#605, BackburnerJS/backburner.js#29, #293
  @Test(arguments: [false, true])
  func `by cancel from another piece come before that one's turn`(reversed: Bool) {
    withVirtualLoop { loop, _ in
      let works = Shared<[IdleWork]>([])
      let ran = Shared<[Int]>([])
      for index in 0..<100 {
        works.value.append(
          loop.idle.enqueue(index, key: index % 7) { _, index in
            ran.value.append(index)
            let others = works.value.dropFirst()
            for work in reversed ? Array(others.reversed()) : Array(others) { work.cancel() }
            return .continue
          })
      }
      #expect(loop.run() == .finished)
      #expect(ran.value == [0])
      #expect(works.value.dropFirst().allSatisfy { name($0.end) == "cancelled" })
      works.value = []
    }
  }

  @Test func `by cancel from another thread come before the next piece`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let work = loop.idle.forEach(0..<10) { index, _ in
        timeline.mark("\(index)")
        time.advance(by: .milliseconds(1))
        return .continue
      }
      time.after(milliseconds(2.5)) { work.cancel() }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "0 +1 1 +1 2")
      #expect(name(work.end) == "cancelled")
    }
  }

  @Test func `by cancel of a key leave other keys and later work alone`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      for name in ["a", "b"] {
        for _ in 0..<2 {
          loop.idle.enqueue(name, key: name) { key, _ in
            timeline.mark(key)
            return .continue
          }
        }
      }
      loop.idle.cancel(key: "a")
      loop.idle.enqueue(0, key: "a") { _, _ in
        timeline.mark("later")
        return .continue
      }
      #expect(loop.idle.count == 3)
      #expect(loop.run() == .finished)
      #expect(timeline.text == "b later b")
    }
  }

  // python/asyncio#186, MagicStack/uvloop#240, lalinsky/zio: cancelled entries kept their payloads.
  @Test func `by cancel free a hundred thousand payloads at once`() {
    final class Payload: Sendable {
      let alive: AtomicCounter
      init(_ alive: AtomicCounter) {
        self.alive = alive
        alive.add(1)
      }
      deinit { alive.add(-1) }
    }
    withVirtualLoop { loop, _ in
      let alive = AtomicCounter()
      var works: [IdleWork] = []
      for index in 0..<100_000 {
        works.append(
          loop.idle.enqueue(Payload(alive), key: index % 3) { _, _ in
            Issue.record("a piece that was cancelled ran")
            return .continue
          })
      }
      #expect(alive.count == 100_000)
      for index in works.indices.reversed() where index % 2 == 0 { works[index].cancel() }
      #expect(alive.count == 50_000)
      for work in works { work.cancel() }
      #expect(alive.count == 0 && loop.idle.count == 0)
      #expect(loop.run() == .finished)
    }
  }

  // MARK: Coming back to the queue

  // apple/swift-corelibs-foundation's NotificationQueue trapped, and reversed the order.
  @Test func `do not keep a piece from adding to its key and to others, in order`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      @Sendable func add(_ name: String, key: String, _ then: @escaping @Sendable () -> Void = {}) {
        loop.idle.enqueue(name, key: key) { _, name in
          timeline.mark(name)
          then()
          return .continue
        }
      }
      add("1", key: "k") {
        add("3", key: "k")
        add("other", key: "o")
        add("4", key: "k")
      }
      add("2", key: "k")
      #expect(loop.run() == .finished)
      #expect(timeline.text == "1 other 2 3 4")
    }
  }

  // ibireme/YYKit#126
  @Test func `come exactly once, whatever pieces add and cancel`() {
    withVirtualLoop { loop, _ in
      var generator = SystemRandomNumberGenerator()
      let seed = UInt64.random(in: 0...UInt64.max, using: &generator)
      let random = Shared(seed)
      @Sendable func next(_ bound: Int) -> Int {
        random.value = random.value &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(random.value >> 33) % bound
      }
      let works = Shared<[IdleWork]>([])
      let ends = Shared<[Int: Int]>([:])
      let ran = Shared<[Int: Int]>([:])
      @Sendable func add() {
        let number = works.value.count
        works.value.append(
          loop.idle.enqueue(
            number, key: next(5), options: .init(priority: IdleWork.Priority.allCases[next(3)]),
            onEnd: { _ in ends.value[number, default: 0] += 1 }
          ) { _, number in
            ran.value[number, default: 0] += 1
            if works.value.count < 10_000 {
              add()
              if next(2) == 0 { add() }
              works.value[next(works.value.count)].cancel()
            }
            return .continue
          })
      }
      for _ in 0..<50 { add() }
      #expect(loop.run() == .finished)
      #expect(ends.value.count == works.value.count, "seed \(seed)")
      #expect(ends.value.values.allSatisfy { $0 == 1 }, "seed \(seed)")
      #expect(ran.value.values.allSatisfy { $0 == 1 }, "seed \(seed)")
      for (number, work) in works.value.enumerated() {
        // Its own piece may have cancelled it.
        if case .finished? = work.end { #expect(ran.value[number] == 1, "seed \(seed)") }
      }
      #expect(loop.idle.count == 0)
      works.value = []
    }
  }

  @Test func `may be those of work whose iterator or weights come back to the queue`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let victim = Shared<IdleWork?>(nil)
      let own = Shared<IdleWork?>(nil)
      let numbers = AnySequence<Int> { () -> AnyIterator<Int> in
        victim.value!.cancel()
        loop.perform { timeline.mark("block") }
        _ = loop.run(in: .default, for: .milliseconds(1))
        var next = 0
        return AnyIterator {
          next += 1
          return next < 4 ? next : nil
        }
      }
      nonisolated(unsafe) let sent = numbers
      own.value = unsafe loop.idle.forEach(
        sent,
        weight: { number in
          if number == 3 { own.value!.cancel() }
          return number
        }
      ) { _, number in
        timeline.mark("\(number)")
        return .continue
      }
      victim.value = loop.idle.forEach(0..<3) { _, _ in
        Issue.record("cancelled before its turn")
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "block 1 2")
      #expect(name(own.value!.end) == "cancelled" && name(victim.value!.end) == "cancelled")
      (own.value, victim.value) = (nil, nil)
    }
  }

  @Test func `do not begin another piece in a nested run of one`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.idle.forEach(0..<2) { index, _ in
        timeline.mark("in \(index)")
        loop.schedule(after: .milliseconds(50)) { _ in timeline.mark("tick") }
        _ = loop.run(in: .default)
        timeline.mark("out")
        return .continue
      }
      loop.idle.enqueue(0, key: "other") { _, _ in
        timeline.mark("other")
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "in 0 sleep +50 wake tick out other in 1 sleep +50 wake tick out")
    }
  }
}

/// A count that deinits may change.
private final class AtomicCounter: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .relaxed) }
  func add(_ change: Int) { value.wrappingAdd(change, ordering: .relaxed) }
}
