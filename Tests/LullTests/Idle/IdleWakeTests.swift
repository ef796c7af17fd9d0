// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

/// When the loop sleeps, and what wakes it, while there is idle work and while there is none.
@Suite struct `Wake-ups for idle work` {
  // diwu/RunLoopWorkDistribution#7, #12
  @Test func `there are none while nothing is queued`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      loop.idle.forEach(0..<3) { _, _ in .continue }
      _ = loop.run(in: .default, for: .milliseconds(1))
      let before = time.waits
      #expect(loop.run(in: .default, for: .seconds(10)) == .timedOut)
      #expect(time.waits == before + 1)
    }
  }

  // TextureGroup/Texture d1756baa: work that nobody woke the loop for.
  @Test func `are not needed for work that is left`() {
    withVirtualLoop { loop, time in
      let ran = Shared(0)
      loop.keepAlive()
      loop.idle.forEach(0..<10) { _, _ in
        ran.value += 1
        time.advance(by: .milliseconds(20))
        return .continue
      }
      _ = loop.run(in: .default, for: .milliseconds(201))
      #expect(ran.value == 10)
      #expect(time.sleeps == 1)
    }
  }

  @Test func `come with work from another thread, once a burst`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive()
      time.after(.milliseconds(5)) {
        for index in 0..<100 {
          loop.idle.enqueue(index, key: "key") { _, index in
            if index % 50 == 0 { timeline.mark("\(index)") }
            return .continue
          }
        }
      }
      _ = loop.run(in: .default, for: .milliseconds(10))
      #expect(timeline.text == "sleep +5 wake 0 50 sleep +5 wake")
      #expect(time.sleeps == 2)
    }
  }

  // TextureGroup/Texture#1350
  @Test func `are few for a hundred thousand items`() {
    withVirtualLoop { loop, time in
      let sum = Shared(0)
      loop.keepAlive()
      time.after(.milliseconds(1)) {
        for index in 0..<100_000 {
          loop.idle.enqueue(index, key: index % 10) { _, index in
            sum.value += index
            return .continue
          }
        }
      }
      _ = loop.run(in: .default, for: .seconds(1))
      #expect(sum.value == 99_999 * 50_000)
      #expect(time.sleeps == 2)
    }
  }

  @Test func `come when the gap begins, when nothing fits now, and not before`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let frames = loop.schedule(at: at(0), every: .milliseconds(16)) { timer in
        timeline.mark("frame")
        time.advance(by: .milliseconds(4))
        if time.now > at(40) { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: frames)
      loop.idle.forEach(0..<3) { index, _ in
        timeline.mark("\(index)")
        time.advance(by: .milliseconds(10))
        return .continue
      }
      _ = loop.run(in: .default, until: at(5))
      let waits = time.waits
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "frame +4 0 +10 sleep +2 wake frame +4 1 +10 sleep +2 wake frame +4 2 +10 "
          + "sleep +2 wake frame")
      // One to sleep and one to look before each piece.
      #expect(time.waits - waits <= 6)
    }
  }

  @Test func `come for a piece that waits past its maximum, with only a far timer`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      loop.schedule(at: at(10_000)) { _ in }
      loop.idle.forEach(0..<2, key: "long") { _, _ in
        ran.value.append(time.milliseconds)
        time.advance(by: .seconds(6))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(ran.value.count == 2)
      #expect(time.waits < 12)
    }
  }

  // Each traversal has a key of its own, so nobody knows what its first piece costs.
  @Test func `are not put off by a timer that is far away`() {
    withVirtualLoop { loop, time in
      let ran = Shared(0)
      loop.schedule(at: at(60_000)) { _ in loop.stop() }
      for _ in 0..<10 {
        loop.idle.forEach(0..<5) { _, _ in
          ran.value += 1
          time.advance(by: .milliseconds(1))
          return .continue
        }
      }
      _ = loop.run(in: .default, for: .milliseconds(200))
      #expect(ran.value == 50)
    }
  }

  @Test func `go on after a budget is spent, with a look at everything in between`() {
    withVirtualLoop { loop, time in
      let passes = Shared(0)
      loop.observe(.beforeTimers) { _, _ in passes.value += 1 }
      loop.idle.forEach(0..<40) { _, _ in
        time.advance(by: .milliseconds(1))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(time.now == at(40) && time.sleeps == 0)
      // Five milliseconds each.
      #expect(passes.value == 8)
    }
  }

  @Test func `go on in short runs that a host makes between its own work`() {
    withVirtualLoop { loop, time in
      let ran = Shared(0)
      for _ in 0..<5 {
        loop.idle.forEach(0..<2) { _, _ in
          ran.value += 1
          time.advance(by: .milliseconds(7))
          return .continue
        }
      }
      loop.keepAlive()
      for _ in 0..<20 {
        _ = loop.run(in: .default, for: .milliseconds(5))
        time.advance(by: .milliseconds(10))
      }
      #expect(ran.value == 10)
    }
  }

  // swift-corelibs-foundation#2544
  @Test func `are none for a run without time, which gives no share`() {
    withVirtualLoop { loop, time in
      let ran = Shared(0)
      loop.idle.forEach(0..<3, options: .init(maximumWait: .zero)) { _, _ in
        ran.value += 1
        return .continue
      }
      let source = Loop.Source { _ in }
      loop.add(source)
      source.signal()
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(loop.run(in: .default, until: .distantPast) == .timedOut)
      #expect(ran.value == 0 && time.now == at(0))
    }
  }

  // emberjs/ember.js#16296, BackburnerJS/backburner.js#332: lost between two stages of one flush.
  @Test(arguments: [
    Loop.Activities.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting,
  ])
  func `are not needed for work added at any point of a pass`(activity: Loop.Activities) {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive()
      loop.observe(activity, repeats: false) { _, _ in
        loop.idle.enqueue(
          0, key: 0,
          onEnd: { _ in
            loop.idle.forEach(0..<1) { _, _ in
              timeline.mark("last")
              loop.stop()
              return .continue
            }
          }
        ) { _, _ in
          timeline.mark("piece")
          return .continue
        }
      }
      if activity == .afterWaiting { time.after(.milliseconds(1)) { loop.wakeUp() } }
      #expect(loop.run() == .stopped)
      #expect(timeline.text.hasSuffix("piece last"))
      #expect(time.now <= at(1))
    }
  }

  // netty/netty#9109, lalinsky/zio#342: what comes between the last look and the sleep.
  @Test func `are not needed for work that came while the last piece ran`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.idle.enqueue(0, key: 0) { _, _ in
        timeline.mark("piece")
        onNewThread {
          _ = loop.idle.enqueue(1, key: 1) { _, _ in
            timeline.mark("late")
            return .continue
          }
        }
        return .continue
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(500))
      #expect(timeline.text == "piece late sleep +500 wake")
    }
  }

  // flutter/flutter#73766, #82016: a gated head made the pump say that there was nothing to do.
  @Test func `are not lost behind work that may not run yet`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let frames = loop.schedule(every: .milliseconds(16)) { timer in
        timeline.mark("frame")
        if time.now > at(30) { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: frames)
      loop.idle.forEach(0..<2, key: "gated", options: .init(priority: .high)) { _, _ in
        timeline.mark("gated")
        time.advance(by: .milliseconds(12))
        return .continue
      }
      loop.idle.forEach(0..<2, key: "free", options: .init(priority: .low)) { _, _ in
        timeline.mark("free")
        time.advance(by: .milliseconds(1))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "gated +12 sleep +4 wake frame gated +12 sleep +4 wake frame free +1 free")
    }
  }

  // facebook/react-native#8624: a fallback timer was everybody's cure.
  @Test func `of a loop that sleeps for ever come from anybody who adds`() {
    withVirtualLoop { loop, time in
      let source = Loop.Source { _ in }
      loop.add(source)
      time.whenAsleepForEver {
        onNewThread {
          _ = loop.idle.enqueue(0, key: 0) { _, _ in
            loop.stop()
            return .continue
          }
        }
      }
      #expect(loop.run() == .stopped)
    }
  }

  // swift-corelibs-foundation#1439
  @Test func `come in modes that became common before and after the work was queued`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      let ran = Shared<[String]>([])
      for mode in [Loop.Mode.first, .second] {
        loop.idle.enqueue(mode.name, key: mode.name) { _, name in
          ran.value.append(name + " in " + loop.currentMode!.name)
          loop.stop()
          return .continue
        }
      }
      loop.keepAlive(in: .first)
      loop.keepAlive(in: .second)
      #expect(loop.run(in: .first) == .stopped)
      #expect(loop.run(in: .second, for: .milliseconds(1)) == .timedOut)
      loop.addCommonMode(.second)
      #expect(loop.run(in: .second) == .stopped)
      #expect(ran.value == ["first in first", "second in second"])
    }
  }

  // mwarning/KadNode#158, golang/go#35012
  @Test func `count no suspend as waiting`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      let source = Loop.Source { source in
        time.advance(by: .milliseconds(10))
        if ran.value.isEmpty { source.signal() } else { source.invalidate() }
      }
      loop.add(source)
      source.signal()
      loop.idle.enqueue(0, key: 0) { _, _ in
        ran.value.append(time.milliseconds)
        return .continue
      }
      time.after(.milliseconds(5)) { time.suspend(for: .seconds(3600)) }
      #expect(loop.run() == .finished)
      #expect(ran.value == [1000])
    }
  }

  // swift-corelibs-foundation#5485
  @Test(arguments: [0, 1, 9])
  func `go on by a coarse clock, on which pieces may seem to take no time`(cost: Int) {
    withVirtualLoop(clockGranularity: .milliseconds(4)) { loop, time in
      let late = Shared<[Int64]>([])
      let frames = loop.schedule(every: .milliseconds(20)) { timer in
        late.value.append(loop.now.nanoseconds - timer.nextFire.nanoseconds)
      }
      loop.idle.frameClock = FrameClock(following: frames)
      let work = loop.idle.forEach(0..<200, onEnd: { _ in frames.invalidate() }) { _, _ in
        time.advance(by: .milliseconds(cost))
        return .continue
      }
      _ = loop.run()
      #expect(work.progress.done == 200)
      #expect(late.value.allSatisfy { $0 <= 8_000_000 })
      #expect(time.waits < 1200)
    }
  }
}
