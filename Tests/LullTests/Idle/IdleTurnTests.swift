// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

/// Whose turn it is, and that everybody gets one.
@Suite struct `Turns of idle work` {
  @Test func `go round the keys, and by order within one`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      for index in 0..<3 {
        for key in ["a", "b"] {
          loop.idle.enqueue(index, key: key) { key, index in
            timeline.mark("\(key)\(index)")
            return .continue
          }
        }
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "a0 b0 a1 b1 a2 b2")
    }
  }

  @Test func `are fair by time, not by number`() {
    withVirtualLoop { loop, time in
      let used = Shared<[String: Double]>([:])
      for (key, cost) in [("long", 10.0), ("short", 0.5)] {
        loop.idle.forEach(0..<10_000, key: key) { _, _ in
          used.value[key, default: 0] += cost
          time.advance(by: milliseconds(cost))
          return .continue
        }
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .seconds(1))
      #expect(used.value["long"]! + used.value["short"]! > 980)
      #expect(abs(used.value["long"]! - used.value["short"]!) <= 10.5)
    }
  }

  @Test func `are not owed for the time before work came`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[String]>([])
      @Sendable func traverse(_ key: String) {
        loop.idle.forEach(0..<1000, key: key) { index, _ in
          if time.now >= at(100) { ran.value.append(key) }
          time.advance(by: .milliseconds(1))
          if time.now == at(104) { loop.stop() }
          return .continue
        }
      }
      traverse("old")
      time.after(milliseconds(99.5)) { traverse("new") }
      #expect(loop.run() == .stopped)
      #expect(ran.value == ["old", "new", "old", "new"])
    }
  }

  @Test func `come by priority while it fits`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      for priority in [IdleWork.Priority.low, .high, .medium, .high, .low] {
        loop.idle.enqueue(0, key: "\(priority)", options: .init(priority: priority)) { key, _ in
          timeline.mark(key)
          return .continue
        }
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "high high medium low low")
    }
  }

  // systemd/systemd#13236
  @Test func `of low priority come by their age, whatever is above them`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      let left = Shared(10_000)
      @Sendable func high() {
        loop.idle.enqueue(0, key: "high", options: .init(priority: .high)) { _, _ in
          left.value -= 1
          time.advance(by: .milliseconds(1))
          if left.value > 0 { high() }
          return .continue
        }
      }
      high()
      loop.idle.forEach(0..<4, key: "low", options: .init(priority: .low)) { _, _ in
        ran.value.append(time.milliseconds)
        return .continue
      }
      #expect(loop.run() == .finished)
      // Three quarters of the maximum wait make it as high as the others.
      #expect(ran.value == [751, 1501, 2251, 3001])
    }
  }

  // awesomeWM/awesome#2838: a zero-interval timer blocked all idle work.
  @Test func `come by their maximum wait in a storm of timers`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      let storm = loop.schedule(every: .zero) { _ in time.advance(by: .milliseconds(1)) }
      loop.idle.forEach(
        0..<3, options: .init(maximumWait: .milliseconds(100)), onEnd: { _ in storm.invalidate() }
      ) { _, _ in
        ran.value.append(time.milliseconds)
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(ran.value.count == 3)
      #expect(ran.value.last! <= 310)
    }
  }

  enum Storm: CaseIterable { case blocks, source, descriptor, wakeUps }

  @Test(arguments: Storm.allCases)
  func `come by their maximum wait in a storm of events`(storm: Storm) throws {
    try withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      let isOver = Shared(false)
      let event: @Sendable () -> Void = { time.advance(by: .milliseconds(10)) }
      switch storm {
      case .blocks:
        @Sendable func again() {
          event()
          if !isOver.value { loop.perform { again() } }
        }
        loop.perform { again() }
      case .source:
        let source = Loop.Source { source in
          event()
          if isOver.value { source.invalidate() } else { source.signal() }
        }
        loop.add(source)
        source.signal()
      case .descriptor:
        let descriptor = time.makeDescriptor()
        try loop.watch(descriptor.number, for: .readable) { source, _ in
          event()
          if isOver.value { source.invalidate() }
        }
        descriptor.become(.readable)
      case .wakeUps:
        loop.observe(.beforeSources) { observer, _ in
          event()
          if isOver.value { observer.invalidate() } else { loop.wakeUp() }
        }
      }
      loop.idle.forEach(
        0..<3, options: .init(maximumWait: .milliseconds(100)), onEnd: { _ in isOver.value = true }
      ) { _, _ in
        ran.value.append(time.milliseconds)
        return .continue
      }
      #expect(loop.run() == .finished)
      // Within an event of its bound each time, or at once where the loop has lulls.
      #expect(ran.value.count == 3)
      #expect(ran.value.last! <= 330)
    }
  }

  // microsoft/vscode#163313: forced time-outs fired all together in the middle of a start-up.
  @Test func `that are overdue come one a pass`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      for index in 0..<50 {
        loop.idle.enqueue(index, key: index, options: .init(maximumWait: .milliseconds(10))) {
          _, _ in
          timeline.mark("piece")
          return .continue
        }
      }
      let events = Shared(0)
      let source = Loop.Source { source in
        timeline.mark("event")
        time.advance(by: .milliseconds(1))
        events.value += 1
        if events.value < 70 { source.signal() }
      }
      loop.add(source)
      source.signal()
      loop.schedule(at: at(60)) { _ in
        source.invalidate()
        timeline.mark("over")
      }
      #expect(loop.run() == .finished)
      let marks = timeline.text.split(separator: " ")
      for (mark, next) in zip(marks, marks.dropFirst()) {
        #expect(mark != "piece" || next != "piece")
      }
      #expect(marks.filter { $0 == "piece" }.count == 50)
    }
  }

  // facebook/react#12920: a callback that was overdue and threw was never removed.
  @Test func `that are overdue and throw are over, and the next comes`() {
    withVirtualLoop { loop, time in
      struct Oops: Error {}
      let calls = Shared<[Int]>([])
      for index in 0..<3 {
        loop.idle.enqueue(index, key: 0, options: .init(maximumWait: .milliseconds(10))) {
          _, index in
          calls.value.append(index)
          if index == 1 { throw Oops() }
          return .continue
        }
      }
      let storm = Loop.Source { source in
        time.advance(by: .milliseconds(20))
        if calls.value.count < 3 { source.signal() } else { source.invalidate() }
      }
      loop.add(storm)
      storm.signal()
      #expect(loop.run() == .finished)
      #expect(calls.value == [0, 1, 2])
      #expect(loop.idle.report.failures == 1)
    }
  }

  // WICG/scheduling-apis#86: what goes on after a piece, and what is older and waits.
  @Test func `of work that has begun come before what came later for its key, and not its others`()
  {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.idle.forEach(0..<3, key: "a") { _, element in
        timeline.mark("a\(element)")
        return .continue
      }
      loop.idle.forEach(0..<2, key: "a") { _, element in
        timeline.mark("later\(element)")
        return .continue
      }
      loop.idle.forEach(0..<3, key: "b") { _, element in
        timeline.mark("b\(element)")
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "a0 b0 a1 b1 a2 b2 later0 later1")
    }
  }

  // facebook/react#19845: an expired task that asked for more ran without yielding.
  @Test func `that are overdue and never end let timers through`() {
    withVirtualLoop { loop, time in
      let late = Shared<[Double]>([])
      let ticks = loop.schedule(every: .milliseconds(20)) { timer in
        late.value.append(time.milliseconds - Double(timer.nextFire.nanoseconds) / 1_000_000)
      }
      loop.idle.forEach(
        0..<1000, options: .init(maximumWait: .zero), onEnd: { _ in ticks.invalidate() }
      ) { _, _ in
        time.advance(by: .milliseconds(3))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(late.value.count > 150)
      #expect(late.value.allSatisfy { $0 <= 3 })
    }
  }

  // joyent/libuv#1427
  @Test func `of work that queues itself again come back to the loop each time`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let left = Shared(3)
      _ = try? loop.watch(descriptor.number, for: .readable) { source, _ in
        timeline.mark("event")
        descriptor.become([])
        if left.value == 0 { source.invalidate() }
      }
      @Sendable func again() {
        loop.idle.enqueue(0, key: "key") { _, _ in
          timeline.mark("piece")
          left.value -= 1
          descriptor.become(.readable)
          if left.value > 0 { again() }
          return .continue
        }
      }
      again()
      #expect(loop.run() == .finished)
      #expect(timeline.text == "piece event piece event piece event")
    }
  }

  // w3c/requestidlecallback#34: the one that needs most drew the short straw.
  @Test func `of a long piece come though short ones would always fit`() {
    withVirtualLoop { loop, time in
      let long = Shared<[Double]>([])
      let frames = loop.schedule(every: .milliseconds(50)) { _ in }
      loop.idle.frameClock = FrameClock(following: frames)
      let short = loop.idle.forEach(0..<100_000, key: "short") { _, _ in
        time.advance(by: .milliseconds(2))
        return .continue
      }
      loop.idle.forEach(
        0..<10, key: "long",
        onEnd: { _ in
          short.cancel()
          frames.invalidate()
        }
      ) { _, _ in
        long.value.append(time.milliseconds)
        time.advance(by: .milliseconds(40))
        return .continue
      }
      #expect(loop.run() == .finished)
      for (piece, next) in zip([0] + long.value, long.value) { #expect(next - piece <= 1100) }
    }
  }

  // gotk3/gotk3#776, GtkSharp/GtkSharp#252
  @Test func `of every priority are after timers, sources, descriptors and blocks`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.idle.enqueue(0, key: 0, options: .init(priority: .high)) { _, _ in
        timeline.mark("piece")
        return .continue
      }
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { source, _ in
        timeline.mark("descriptor")
        source.invalidate()
      }
      descriptor.become(.readable)
      loop.schedule(after: .zero) { _ in timeline.mark("tick") }
      let source = Loop.Source { source in
        timeline.mark("source")
        source.invalidate()
      }
      loop.add(source)
      source.signal()
      loop.perform { timeline.mark("block") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "block source tick descriptor piece")
    }
  }

  // AvaloniaUI/Avalonia#15137
  @Test func `give way to input after the piece that runs`() {
    withVirtualLoop { loop, time in
      let delays = Shared<[Double]>([])
      let descriptor = time.makeDescriptor()
      let arrived = Shared(0.0)
      let source = try? loop.watch(descriptor.number, for: .readable) { _, _ in
        delays.value.append(time.milliseconds - arrived.value)
        descriptor.become([])
      }
      for index in 1...50 {
        time.after(milliseconds(Double(index) * 7.3)) {
          arrived.value = time.milliseconds
          descriptor.become(.readable)
        }
      }
      loop.idle.forEach(0..<200, onEnd: { _ in source?.invalidate() }) { _, _ in
        time.advance(by: .milliseconds(2))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(delays.value.count == 50)
      #expect(delays.value.allSatisfy { $0 <= 2 })
    }
  }

  // w3c/requestidlecallback#72, #74, #95
  @Test func `take a timer into account that a piece has added`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.idle.forEach(0..<4) { index, _ in
        timeline.mark("\(index)")
        time.advance(by: .milliseconds(2))
        if index == 1 {
          loop.schedule(after: .milliseconds(3)) { _ in timeline.mark("tick") }
        }
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "0 +2 1 +2 2 +2 sleep +1 wake tick 3")
    }
  }
}
