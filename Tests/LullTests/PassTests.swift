// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `A pass` {
  /// Observers that draw every activity into the timeline.
  private func drawActivities(on loop: Loop, in mode: Loop.Mode = .default, _ timeline: Timeline) {
    loop.observe(.all, in: mode) { _, activity in timeline.mark("\(activity)") }
  }

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
      drawActivities(on: loop, timeline)
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
      drawActivities(on: loop, timeline)
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
          == "p0 +3 p1 +3 p2 +3 sleep +1 wake frame +2 p3 +3 p4 +3 sleep +2 wake frame +2 p5 +3 "
          + "sleep +5 wake frame +2 sleep +8 wake frame +2 sleep +8 wake frame")
    }
  }
}
