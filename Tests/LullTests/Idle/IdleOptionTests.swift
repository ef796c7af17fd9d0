// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Options of idle work` {
  struct Oops: Error {}

  // diwu/RunLoopWorkDistribution#5, tauri-apps/tao#1319: default mode only and all common modes
  // break someone each.
  @Test(arguments: IdleWork.Tracking.allCases)
  func `say what becomes of it while the user drags`(tracking: IdleWork.Tracking) {
    withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, time in
      let ran = Shared(0)
      let work = loop.idle.forEach(0..<1000, options: .init(tracking: tracking)) { _, _ in
        ran.value += 1
        time.advance(by: .milliseconds(1))
        return .continue
      }
      loop.keepAlive(in: .eventTracking)
      let waits = time.waits
      _ = loop.run(in: .eventTracking, for: .milliseconds(200))
      switch tracking {
      // The last would end with the run, and a little is left free before that.
      case .run: #expect(ran.value == 199)
      case .throttle: #expect(ran.value == 20)
      case .pause: #expect(ran.value == 0)
      }
      // It sleeps where nothing may run, and does not ask again and again.
      #expect(time.waits - waits <= ran.value + 1)
      #expect((loop.idle.report.waits[.tracking] ?? 0 > 0) == (tracking != .run))
      #expect(loop.run() == .finished)
      #expect(ran.value == 1000 && name(work.end) == "finished")
    }
  }

  @Test func `keep what is paused while the user drags from coming by its maximum wait`() {
    withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, time in
      let ran = Shared<[String]>([])
      for (key, tracking) in [("paused", IdleWork.Tracking.pause), ("other", .throttle)] {
        loop.idle.forEach(
          0..<1, key: key, options: .init(maximumWait: .milliseconds(10), tracking: tracking)
        ) { _, _ in
          ran.value.append(key)
          return .continue
        }
      }
      // It is asked again and again.
      let ticks = loop.schedule(every: .milliseconds(5), in: .eventTracking) { _ in }
      _ = loop.run(in: .eventTracking, for: .milliseconds(100))
      ticks.invalidate()
      #expect(ran.value == ["other"])
      #expect(loop.run() == .finished)
      #expect(ran.value == ["other", "paused"])
    }
  }

  // facebook/react-native#8624: it waited for the end of interactions, one of which never ended.
  @Test func `bring throttled work by its maximum wait though the user never lets go`() {
    withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, time in
      let ran = Shared<[Double]>([])
      loop.idle.forEach(
        0..<3, options: .init(maximumWait: .milliseconds(300), tracking: .throttle)
      ) { _, _ in
        ran.value.append(time.milliseconds)
        time.advance(by: .milliseconds(100))
        return .continue
      }
      let drags = loop.schedule(every: .milliseconds(10), in: .eventTracking) { _ in }
      _ = loop.run(in: .eventTracking, for: .seconds(3))
      drags.invalidate()
      #expect(ran.value.count == 3)
      for (one, next) in zip(ran.value, ran.value.dropFirst()) { #expect(next - one <= 420) }
      #expect(loop.idle.report.waits[.tracking, default: 0] > 0)
    }
  }

  @Test func `of priority are a reason to wait`() {
    withVirtualLoop { loop, _ in
      for priority in [IdleWork.Priority.high, .low] {
        loop.idle.forEach(0..<4, options: .init(priority: priority)) { _, _ in .continue }
      }
      #expect(loop.run() == .finished)
      #expect(loop.idle.report.waits[.priority] == 4)
    }
  }

  @Test func `of priority may change while it waits`() {
    withVirtualLoop { loop, _ in
      let order = Shared<[String]>([])
      func add(_ key: String, _ priority: IdleWork.Priority) -> IdleWork {
        loop.idle.enqueue(0, key: key, options: .init(priority: priority)) { key, _ in
          order.value.append(key)
          return .continue
        }
      }
      let low = add("low", .low)
      let high = add("high", .high)
      _ = add("medium", .medium)
      low.priority = .high
      high.priority = .low
      #expect(low.priority == .high && high.priority == .low)
      #expect(loop.run() == .finished)
      #expect(order.value == ["low", "medium", "high"])
      low.priority = .low
      #expect(loop.idle.count == 0)
    }
  }

  // WICG/scheduling-apis#98: what is high waits for what is low and before it.
  @Test func `raise what runs before it under the same key`() {
    withVirtualLoop { loop, _ in
      let order = Shared<[String]>([])
      func add(_ text: String, _ key: String, _ priority: IdleWork.Priority) -> IdleWork {
        loop.idle.enqueue(text, key: key, options: .init(priority: priority)) { _, text in
          order.value.append(text)
          return .continue
        }
      }
      _ = add("first", "key", .low)
      let second = add("second", "key", .low)
      _ = add("other", "other", .medium)
      second.priority = .high
      #expect(loop.run() == .finished)
      #expect(order.value == ["first", "second", "other"])
    }
  }

  // w3c/requestidlecallback#34: items that say what they need.
  @Test(arguments: [true, false])
  func `of a cost make a first piece fit, or wait`(fits: Bool) {
    withVirtualLoop { loop, time in
      let late = Shared(0)
      let frames = Shared(0)
      let began = Shared<Double?>(nil)
      let timer = loop.schedule(every: .milliseconds(16)) { timer in
        frames.value += 1
        if loop.now > timer.nextFire { late.value += 1 }
        time.advance(by: .milliseconds(4))
        if frames.value == 10 { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: timer)
      // A piece of another key, by which the length of gaps is known.
      loop.idle.enqueue(0, key: "short") { _, _ in .continue }
      time.after(.milliseconds(24)) {
        loop.idle.enqueue(0, key: 0, options: .init(cost: .milliseconds(fits ? 5 : 9))) { _, _ in
          began.value = time.milliseconds
          time.advance(by: .milliseconds(5))
          return .continue
        }
      }
      #expect(loop.run() == .finished)
      // Five milliseconds fit before the frame at 32 ms, nine do not.
      #expect(began.value == (fits ? 24 : 36))
      #expect(late.value == 0)
    }
  }

  // facebook/react-native#58129: clear what is left, or go on.
  @Test(arguments: IdleWork.ErrorReach.allCases)
  func `say how far an error reaches`(reach: IdleWork.ErrorReach) {
    withVirtualLoop { loop, _ in
      let ends = Shared<[String: String]>([:])
      func add(_ text: String, _ key: String, throws fails: Bool = false) {
        loop.idle.enqueue(
          text, key: key, options: .init(errorReach: reach),
          onEnd: { end in ends.value[text] = name(end) }
        ) { _, _ in
          if fails { throw Oops() }
          return .continue
        }
      }
      add("fails", "key", throws: true)
      add("same", "key")
      add("other", "other")
      #expect(loop.run() == .finished)
      #expect(ends.value["fails"] == "failed")
      #expect(ends.value["same"] == (reach == .item ? "finished" : "dropped"))
      #expect(ends.value["other"] == (reach == .queue ? "dropped" : "finished"))
      #expect(loop.idle.report.failures == 1 && loop.idle.count == 0)
    }
  }

  @Test(arguments: IdleQueue.Overflow.allCases)
  func `of the queue say what becomes of one too many`(overflow: IdleQueue.Overflow) {
    withVirtualLoop { loop, _ in
      let ends = Shared<[String: String]>([:])
      let dropped = Shared<[String]>([])
      let order = Shared<[String]>([])
      func add(_ text: String, _ key: String) {
        let onEnd: @Sendable (IdleWork.End) -> Void = { end in
          ends.value[text] = name(end)
          if name(end) == "dropped" { dropped.value.append(text) }
        }
        loop.idle.enqueue(text, key: key, onEnd: onEnd) { _, text in
          order.value.append(text)
          return .continue
        }
      }
      loop.idle.limit = 3
      loop.idle.overflow = overflow
      for (text, key) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "1"), ("e", "3")] {
        add(text, key)
      }
      #expect(loop.idle.count == 3)
      #expect(loop.run() == .finished)
      switch overflow {
      case .reject: #expect(dropped.value == ["d", "e"])
      case .dropOldest: #expect(dropped.value == ["a", "b"])
      case .dropNewest: #expect(dropped.value == ["c", "d"])
      case .coalesce: #expect(dropped.value == ["c", "e"])
      }
      #expect(ends.value.count == 5 && order.value.count == 3)
      #expect(loop.idle.report.drops == 2 && loop.idle.count == 0)
    }
  }

  // facebook/react#31784: the next piece squeezed in between a commit and its frame.
  @Test func `let a piece end the share of its pass`() {
    withVirtualLoop { loop, time in
      let passes = Shared(0)
      let passOf = Shared<[Int]>([])
      loop.observe(.beforeTimers) { _, _ in passes.value += 1 }
      loop.idle.forEach(0..<4) { index, _ in
        passOf.value.append(passes.value)
        if index == 1 { loop.idle.endShare() }
        return .continue
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(1))
      #expect(passOf.value == [1, 1, 2, 2])
    }
  }

  // Stremio/stremio-linux-shell#120, Mudlet/Mudlet#10835: nothing to do, at all of a processor.
  @Test func `of work that says itself whether there is more`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      let work = loop.idle.perform(key: "resumable") {
        ran.value.append(time.milliseconds)
        time.advance(by: .milliseconds(1))
        switch ran.value.count {
        case 1, 2: return .more
        case 3: return .nothing(until: at(100))
        case 4: return .nothing(until: at(50))
        default: return .done
        }
      }
      let waits = time.waits
      #expect(loop.run() == .finished)
      #expect(ran.value == [0, 1, 2, 100, 101])
      // One sleep, until there is something to do.
      #expect(time.waits - waits <= 5)
      #expect(name(work.end) == "finished" && work.progress.done == 5)
    }
  }

  @Test func `let other keys run while one has nothing to do`() {
    withVirtualLoop { loop, time in
      let order = Shared<[String]>([])
      loop.idle.perform(key: "empty", options: .init(priority: .high)) {
        order.value.append("empty")
        return order.value.count == 1 ? .nothing(until: at(10)) : .done
      }
      loop.idle.forEach(0..<2) { _, _ in
        order.value.append("walk")
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(order.value == ["empty", "walk", "walk", "empty"])
      #expect(time.milliseconds == 10)
    }
  }
}

@Suite struct `Reports of idle work` {
  @Test func `tell progress, and how long is left`() {
    withVirtualLoop { loop, time in
      let work = loop.idle.forEach(0..<10) { index, _ in
        time.advance(by: .milliseconds(2))
        if index == 3 { loop.stop() }
        return .continue
      }
      #expect(work.progress.fraction == 0 && work.progress.timeLeft == nil)
      loop.keepAlive()
      loop.schedule(after: .milliseconds(8)) { _ in }
      #expect(loop.run() == .stopped)
      #expect(work.progress.done == 4)
      #expect(work.progress.fraction == 0.4)
      #expect(work.progress.time == .milliseconds(8))
      #expect(work.progress.timeLeft == .milliseconds(12))
    }
  }

  // appium/appium-espresso-driver#693: never idle, and nobody knows why.
  @Test func `tell why work waited`() {
    withVirtualLoop(commonModes: [.default]) { loop, time in
      loop.idle.forEach(0..<1) { _, _ in .continue }
      loop.keepAlive(in: .first)
      _ = loop.run(in: .first, for: .milliseconds(1))
      #expect(loop.idle.report.waits == [.mode: 1])
      loop.idle.resetReport()
      #expect(loop.idle.report.waits.isEmpty && loop.idle.report.pieces == 0)
      #expect(loop.run() == .finished)
      #expect(loop.idle.report.pieces == 1)
    }
  }

  @Test func `name the key that delayed frames, and by how much it was misjudged`() {
    withVirtualLoop { loop, time in
      let frames = Shared(0)
      let timer = loop.schedule(every: .milliseconds(16)) { timer in
        frames.value += 1
        time.advance(by: .milliseconds(4))
        if frames.value == 30 { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: timer)
      loop.idle.forEach(0..<3, key: "long") { _, _ in
        time.advance(by: .milliseconds(50))
        return .continue
      }
      #expect(loop.run() == .finished)
      let report = loop.idle.report
      #expect(report.pieces == 3 && report.timeUsed == .milliseconds(150))
      #expect(report.longestPieces == ["long": .milliseconds(50)])
      // A piece of 50 ms behind a frame's four covers three frames to come.
      #expect(report.delayedFrames == 9)
      #expect(report.delayedFramesByKey == ["long": 9])
      #expect("\(report)".contains("long 0.05 seconds"))
    }
  }

  @Test func `count nested runs, overruns and the longest wait`() {
    withVirtualLoop { loop, time in
      loop.idle.forEach(0..<3, key: "key") { index, _ in
        if index == 0 { _ = loop.run(in: .default, for: .milliseconds(1)) }
        time.advance(by: .milliseconds(index == 2 ? 20 : 5))
        return .continue
      }
      loop.idle.enqueue(0, key: "later", options: .init(priority: .low)) { _, _ in .continue }
      loop.keepAlive()
      loop.schedule(after: .milliseconds(200)) { _ in loop.stop() }
      _ = loop.run()
      let report = loop.idle.report
      #expect(report.waits[.nested] ?? 0 > 0)
      #expect(report.overruns == 1)
      #expect(report.longestWait >= .milliseconds(30))
    }
  }
}
