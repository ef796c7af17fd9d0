// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `A pass` {
  @Test func `sleeps until a timer is due and fires it`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .milliseconds(5)) { _ in timeline.mark("tick") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +5 wake tick")
    }
  }

  @Test func `shows its activities in CFRunLoop's order`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      loop.schedule(after: .milliseconds(5)) { _ in timeline.mark("tick") }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "entry beforeTimers beforeSources beforeWaiting sleep +5 wake afterWaiting tick exit")
    }
  }

  @Test func `that performed a source does not sleep, and looks at what is due`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      let source = Loop.Source { _ in timeline.mark("source") }
      loop.add(source)
      source.signal()
      loop.schedule(after: .milliseconds(1)) { _ in
        timeline.mark("tick")
        source.invalidate()
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "entry beforeTimers beforeSources source beforeTimers beforeSources beforeWaiting "
          + "sleep +1 wake afterWaiting tick exit")
    }
  }

  @Test func `serves a block that another thread performs while it sleeps`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .milliseconds(9)) { _ in timeline.mark("tick") }
      time.after(.milliseconds(3)) { loop.perform { timeline.mark("block") } }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +3 wake block sleep +6 wake tick")
    }
  }

  @Test func `runs idle pieces in the gaps`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let frames = loop.schedule(every: .milliseconds(10)) { timer in
        timeline.mark("frame")
        time.advance(by: .milliseconds(2))
        if time.now.nanoseconds > 50_000_000 { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: frames)
      loop.idle.forEach(0..<6) { index, _ in
        timeline.mark("p\(index)")
        time.advance(by: .milliseconds(3))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "p0 +3 sleep +7 wake frame +2 p1 +3 p2 +3 sleep +2 wake frame +2 p3 +3 p4 +3 sleep +2 "
          + "wake frame +2 p5 +3 sleep +5 wake frame +2 sleep +8 wake frame")
    }
  }

  // MARK: Passes that do not wait

  // swift-corelibs-foundation#4435, #2544
  @Test(arguments: [Duration.zero, .seconds(-1), .nanoseconds(Int64.min)])
  func `is the only one of a run without time, and does not wait`(limit: Duration) {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      loop.keepAlive()
      #expect(loop.run(in: .default, for: limit) == .timedOut)
      #expect(timeline.text == "entry beforeTimers beforeSources exit")
      for _ in 0..<1000 { #expect(loop.run(in: .default, for: limit) == .timedOut) }
      #expect(time.now == at(0))
    }
  }

  @Test(arguments: [Loop.Instant.distantPast, Loop.Instant(nanoseconds: -1), at(0)])
  func `is the only one of a run until a moment that has passed`(limit: Loop.Instant) {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      for _ in 0..<1000 { #expect(loop.run(in: .default, until: limit) == .timedOut) }
      #expect(time.now == at(0))
    }
  }

  // swift-corelibs-foundation#4435
  @Test func `of a run with a microsecond waits for a microsecond`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      for _ in 0..<1000 {
        #expect(loop.run(in: .default, for: .microseconds(1)) == .timedOut)
      }
      #expect(time.now == at(1))
    }
  }

  @Test func `that does not wait serves what is due and what is ready, timers first`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let source = try loop.watch(descriptor.number, for: .readable) { _, _ in
        timeline.mark("descriptor")
        descriptor.become([])
      }
      loop.schedule(after: .zero) { _ in timeline.mark("tick") }
      descriptor.become(.readable)
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(timeline.text == "tick descriptor")
      source.invalidate()
    }
  }

  // MARK: Observers and stops

  @Test func `that an entry observer has stopped never begins`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      loop.observe(.entry) { _, _ in loop.stop() }
      loop.keepAlive()
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "entry exit")
    }
  }

  @Test(arguments: [Loop.Activities.beforeTimers, .beforeSources, .beforeWaiting])
  func `that an observer stops goes on to its end without sleeping`(activity: Loop.Activities) {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      loop.observe(activity) { _, _ in loop.stop() }
      loop.keepAlive()
      #expect(loop.run() == .stopped)
      #expect(
        timeline.text == "entry beforeTimers beforeSources beforeWaiting afterWaiting exit")
      #expect(time.sleeps == 0)
    }
  }

  @Test func `calls beforeWaiting and afterWaiting in pairs or not at all`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.observe([.beforeWaiting, .afterWaiting]) { _, activity in timeline.mark("\(activity)") }
      let source = Loop.Source { source in
        timeline.mark("source")
      }
      loop.add(source)
      loop.schedule(every: .milliseconds(2)) { timer in
        timeline.mark("tick")
        if loop.now == at(4) { loop.stop() } else { source.signal() }
      }
      #expect(loop.run() == .stopped)
      #expect(
        timeline.text
          == "beforeWaiting sleep +2 wake afterWaiting tick source "
          + "beforeWaiting sleep +2 wake afterWaiting tick")
    }
  }

  /// What keeps the loop awake is seen before it sets out to sleep, not after.
  @Test(arguments: ["stop", "wake-up", "signal", "block", "another thread's block"])
  func `that an observer keeps from sleeping tells of no wait`(deed: String) {
    withVirtualLoop { loop, _ in
      let waits = WaitCounter()
      loop.trace = waits
      let source = Loop.Source { _ in loop.stop() }
      loop.add(source)
      loop.observe(.beforeWaiting, repeats: false) { _, _ in
        switch deed {
        case "stop": loop.stop()
        case "wake-up": loop.wakeUp()
        case "signal": source.signal()
        case "block": loop.perform { loop.stop() }
        default: onNewThread { loop.perform { loop.stop() } }
        }
      }
      loop.observe(.beforeWaiting, order: 1) { _, _ in
        // The pass after a wake-up.
        if deed == "wake-up", waits.passes == 2 { loop.stop() }
      }
      #expect(loop.run(in: .default, for: .seconds(1)) == .stopped)
      #expect(waits.count == 0)
    }
  }

  // MARK: What does not starve what

  @Test func `of a source that signals itself lets a timer through`() {
    withVirtualLoop { loop, time in
      let performed = Shared(0)
      let source = Loop.Source { source in
        performed.value += 1
        time.advance(by: .milliseconds(1))
        source.signal()
      }
      loop.add(source)
      source.signal()
      loop.schedule(after: .milliseconds(10)) { _ in loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(performed.value == 10)
    }
  }

  @Test func `of a descriptor that stays ready lets a timer through`() throws {
    try withVirtualLoop { loop, time in
      let called = Shared(0)
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { _, _ in
        called.value += 1
        time.advance(by: .milliseconds(1))
      }
      descriptor.become(.readable)
      loop.schedule(after: .milliseconds(10)) { _ in loop.stop() }
      #expect(loop.run() == .stopped)
      // The timer was served ahead of an eleventh callout; the pass went on and made it.
      #expect(called.value == 11)
    }
  }

  @Test func `of a block that performs itself lets timers, sources and descriptors through`()
    throws
  {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { _, _ in
        timeline.mark("descriptor")
        descriptor.become([])
      }
      let source = Loop.Source { _ in timeline.mark("source") }
      loop.add(source)
      loop.schedule(after: .milliseconds(3)) { _ in
        timeline.mark("tick")
        loop.stop()
      }
      @Sendable func again() {
        time.advance(by: .milliseconds(1))
        loop.perform { again() }
      }
      loop.perform { again() }
      descriptor.become(.readable)
      source.signal()
      #expect(loop.run() == .stopped)
      #expect(timeline.text.hasSuffix("tick"))
      #expect(timeline.text.contains("source") && timeline.text.contains("descriptor"))
    }
  }
}

private final class WaitCounter: Loop.TraceSink, @unchecked Sendable {  // one thread runs at a time
  var passes = 0
  var count = 0

  func record(_ event: Loop.TraceEvent, at time: Loop.Instant) {
    switch event {
    case .passBegins: passes += 1
    case .waitBegins: count += 1
    default: break
    }
  }
}
