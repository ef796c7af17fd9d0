// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

/// The example everybody draws: interface events that take 0.1 s each, back to back, and ten pieces
/// of work of 0.05 s.
@Suite struct `The picture of idle work` {
  private static let events = 8

  /// A mode whose events come from a descriptor that is ready until all have been served.
  private func drawEvents(
    _ loop: Loop, _ time: VirtualTime, _ timeline: Timeline,
    then afterFirst: @escaping @Sendable () -> Void = {}
  ) throws {
    let descriptor = time.makeDescriptor()
    let served = Shared(0)
    try loop.watch(descriptor.number, for: .readable) { source, _ in
      timeline.mark("event")
      time.advance(by: .milliseconds(100))
      served.value += 1
      if served.value == 1 { afterFirst() }
      if served.value == Self.events { source.invalidate() }
    }
    descriptor.become(.readable)
  }

  private func work(_ time: VirtualTime, _ timeline: Timeline) {
    timeline.mark("piece")
    time.advance(by: .milliseconds(50))
  }

  private let event = "event +100"

  @Test func `A, no work: every event is on time`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      try drawEvents(loop, time, timeline)
      #expect(loop.run() == .finished)
      timeline.mark("end")
      #expect(
        timeline.text == Array(repeating: event, count: 8).joined(separator: " ") + " end")
    }
  }

  @Test func `B, all at once: one event waits for half a second`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      try drawEvents(loop, time, timeline) {
        loop.perform { for _ in 0..<10 { work(time, timeline) } }
      }
      #expect(loop.run() == .finished)
      timeline.mark("end")
      let events = Array(repeating: event, count: 8)
      let pieces = Array(repeating: "piece +50", count: 10)
      #expect(
        timeline.text
          == (events.prefix(1) + pieces + events.dropFirst()).joined(separator: " ") + " end")
    }
  }

  @Test func `C, one piece a pass by an observer: every event waits`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let left = Shared(10)
      let classic = loop.observe([.beforeWaiting, .exit], in: .common) { observer, _ in
        work(time, timeline)
        left.value -= 1
        if left.value == 0 { observer.invalidate() }
      }
      try drawEvents(loop, time, timeline)
      #expect(loop.run() == .finished)
      timeline.mark("end")
      // Eight events later two pieces wait still, one comes with the run's end, and one is left.
      #expect(
        timeline.text
          == Array(repeating: "piece +50 " + event, count: 8).joined(separator: " ")
          + " piece +50 end")
      #expect(left.value == 1 && classic.isValid)
    }
  }

  @Test func `D, in lulls: every event is on time, and the work fills the time after`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      try drawEvents(loop, time, timeline)
      loop.idle.forEach(0..<10) { _, _ in
        work(time, timeline)
        return .continue
      }
      #expect(loop.run() == .finished)
      timeline.mark("end")
      let events = Array(repeating: event, count: 8)
      let pieces = Array(repeating: "piece +50", count: 10)
      #expect(timeline.text == (events + pieces).joined(separator: " ") + " end")
    }
  }

  @Test func `D with pauses between the events: the work fills them`() throws {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let events = loop.schedule(at: at(0), every: .milliseconds(300)) { _ in
        timeline.mark("event")
        time.advance(by: .milliseconds(100))
      }
      loop.idle.forEach(0..<10, onEnd: { _ in events.invalidate() }) { _, _ in
        work(time, timeline)
        return .continue
      }
      #expect(loop.run() == .finished)
      let gap = "event +100 piece +50 piece +50 piece +50 sleep +50 wake"
      #expect(
        timeline.text == "\(gap) \(gap) \(gap) event +100 piece")
    }
  }
}

/// What the classic technique does wrong, by the numbers of the design's list.
@Suite struct `Defects of the classic technique` {
  @Test func `1: no piece waits for something else to wake the loop`() {
    withVirtualLoop { loop, time in
      let ran = Shared(0)
      loop.keepAlive()
      for index in 0..<5 {
        loop.idle.enqueue(index, key: "key") { _, _ in
          ran.value += 1
          return .continue
        }
      }
      time.after(.milliseconds(10)) {
        for index in 0..<5 {
          loop.idle.enqueue(index, key: "key") { _, _ in
            ran.value += 1
            return .continue
          }
        }
      }
      #expect(loop.run(in: .default, for: .milliseconds(11)) == .timedOut)
      #expect(ran.value == 10)
    }
  }

  @Test func `2: arrays and keys alike run a piece at a time, and look at the loop in between`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.idle.forEach(["a0", "a1"]) { _, name in
        timeline.mark(name)
        loop.perform { timeline.mark("block") }
        return .continue
      }
      for name in ["k", "l"] {
        loop.idle.enqueue(0, key: name) { key, _ in
          timeline.mark(key)
          loop.perform { timeline.mark("block") }
          return .continue
        }
      }
      // A handler that queues to its own key comes back to the loop each time.
      @Sendable func again(_ left: Int) {
        loop.idle.enqueue(left, key: "self") { _, left in
          timeline.mark("self")
          loop.perform { timeline.mark("block") }
          if left > 0 { again(left - 1) }
          return .continue
        }
      }
      again(2)
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "a0 block k block l block self block a1 block self block self block")
    }
  }

  @Test func `3: an answer of stop ends what was queued for the key, not what is queued after`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let ends = Shared<[String]>([])
      @Sendable func enqueue(
        _ name: String, _ answer: IdleAnswer, _ then: @escaping @Sendable () -> Void = {}
      ) {
        loop.idle.enqueue(
          name, key: "key", onEnd: { end in ends.value.append("\(name) \(end)") }
        ) { _, name in
          timeline.mark(name)
          then()
          return answer
        }
      }
      enqueue("first", .continue)
      enqueue("second", .stop) {
        // Meanwhile another thread and the piece itself add to the key.
        onNewThread { enqueue("elsewhere", .continue) }
        enqueue("new", .continue)
      }
      enqueue("third", .continue)
      #expect(loop.run() == .finished)
      #expect(timeline.text == "first second elsewhere new")
      #expect(
        ends.value == [
          "first finished", "second stopped", "third dropped", "elsewhere finished",
          "new finished",
        ])
    }
  }

  @Test func `4: index and element agree, whatever the handler does`() {
    withVirtualLoop { loop, _ in
      let seen = Shared<[String]>([])
      var names = ["0", "1", "2", "3"]
      let other = loop.idle.forEach(0..<10) { _, _ in
        Issue.record("a traversal that was cancelled before its turn")
        return .continue
      }
      _ = loop.idle.forEach(names) { index, name in
        seen.value.append("\(index)\(name)")
        if index == 0 { other.cancel() }
        return .continue
      }
      names.removeAll()
      // The first to go is the one that will be cancelled; its turn would have come.
      other.cancel()
      #expect(loop.run() == .finished)
      #expect(seen.value == ["00", "11", "22", "33"])
    }
  }

  // facebook/react#12920
  @Test func `5: a throw ends its item and nothing else`() {
    struct Oops: Error {}
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let failures = Shared(0)
      loop.idle.forEach(
        0..<5,
        onEnd: { end in
          if case .failed(let error) = end, error is Oops { failures.value += 1 }
        }
      ) { index, _ in
        timeline.mark("throws \(index)")
        if index == 1 { throw Oops() }
        return .continue
      }
      loop.idle.forEach(0..<3) { index, _ in
        timeline.mark("\(index)")
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "throws 0 0 throws 1 1 2")
      #expect(failures.value == 1 && loop.idle.count == 0)
    }
  }

  // TextureGroup/Texture#860, #136
  @Test func `6: a deinit may come back to the queue`() {
    final class Payload: Sendable {
      let loop: Loop
      let timeline: Timeline
      init(_ loop: Loop, _ timeline: Timeline) {
        self.loop = loop
        self.timeline = timeline
      }
      deinit {
        timeline.mark("deinit")
        loop.idle.cancel(key: "other")
        loop.idle.enqueue(0, key: "new") { [timeline] _, _ in
          timeline.mark("new")
          return .continue
        }
      }
    }
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.idle.enqueue(0, key: "other") { _, _ in
        timeline.mark("other")
        return .continue
      }
      let work = loop.idle.enqueue(Payload(loop, timeline), key: "key") { _, _ in .continue }
      work.cancel()
      #expect(timeline.text == "deinit")
      loop.idle.enqueue(Payload(loop, timeline), key: "key") { _, _ in
        timeline.mark("key")
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "deinit new key deinit new")
    }
  }

  @Test func `7: it runs after every observer, once a lull, not in modes of its own`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.observe(.beforeWaiting, order: .max) { _, _ in timeline.mark("frame") }
      loop.observe([.afterWaiting, .exit]) { _, activity in timeline.mark("\(activity)") }
      loop.idle.forEach(0..<2) { index, _ in
        timeline.mark("\(index)")
        return .continue
      }
      loop.keepAlive(in: .eventTracking)
      _ = loop.run(in: .eventTracking, for: .milliseconds(5))
      #expect(timeline.text == "sleep +5 wake")
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +5 wake frame 0 1 afterWaiting exit")
    }
  }

  @Test func `8: it has progress, priorities, bounds, cancels and ends`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let work = loop.idle.forEach(0..<3, options: .init(priority: .low)) { index, _ in
        timeline.mark("low")
        return .continue
      }
      #expect(work.progress.done == 0 && work.progress.total == 3)
      loop.idle.forEach(0..<1, options: .init(priority: .high)) { _, _ in
        timeline.mark("high")
        #expect(work.progress.done == 0)
        return .continue
      }
      loop.idle.limit = 2
      let refused = loop.idle.forEach(0..<1) { _, _ in .continue }
      #expect(name(refused.end) == "dropped")
      #expect(loop.idle.count == 2)
      #expect(loop.run() == .finished)
      #expect(work.progress.done == 3 && work.progress.total == 3)
      #expect(timeline.text == "high low low low")
    }
  }
}
