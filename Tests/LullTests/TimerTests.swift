// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Timers` {
  // MARK: Dates

  // swift-corelibs-foundation#4712: the first firing came at once.
  @Test func `that repeat first fire after one interval, however they are made`() {
    withVirtualLoop { loop, time in
      let fired = Shared<[Double]>([])
      func note(_ name: Double) -> Loop.Timer.Handler {
        { timer in
          fired.value.append(time.milliseconds + name)
          if time.now >= at(600) { timer.invalidate() }
        }
      }
      loop.add(Loop.Timer(every: .milliseconds(200), note(0.1)))
      loop.schedule(every: .milliseconds(200), note(0.2))
      loop.add(Loop.Timer(at: at(200), every: .milliseconds(200), note(0.3)))
      #expect(loop.run() == .finished)
      #expect(fired.value == [200.1, 200.2, 200.3, 400.1, 400.2, 400.3, 600.1, 600.2, 600.3])
    }
  }

  @Test func `fire in the order of their dates, equal dates as they were added`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      let timeline = Timeline(of: loop)
      // Different modes, tolerances and intervals, so that several queues are at it.
      loop.schedule(at: at(10)) { _ in timeline.mark("a") }
      loop.schedule(at: at(10), in: .common) { _ in timeline.mark("b") }
      loop.schedule(at: at(9), tolerance: .milliseconds(1)) { _ in timeline.mark("early") }
      loop.schedule(at: at(10), every: .seconds(1)) { timer in
        timeline.mark("c")
        timer.invalidate()
      }
      loop.schedule(at: at(10), base: .continuous) { _ in timeline.mark("d") }
      loop.schedule(at: at(10)) { _ in timeline.mark("e") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +10 wake early a b c d e")
    }
  }

  // Equal dates came out in another order each time.
  @Test func `of a thousand equal dates fire as added`() {
    withVirtualLoop { loop, _ in
      let fired = Shared<[Int]>([])
      for index in 0..<1000 { loop.schedule(at: at(5)) { _ in fired.value.append(index) } }
      #expect(loop.run() == .finished)
      #expect(fired.value == Array(0..<1000))
    }
  }

  @Test func `with past dates fire at once, in the order of the dates they were given up to now`() {
    withVirtualLoop { loop, time in
      time.advance(by: .milliseconds(100))
      let timeline = Timeline(of: loop)
      loop.schedule(at: at(50)) { _ in timeline.mark("a") }
      loop.schedule(at: at(20)) { _ in timeline.mark("b") }
      loop.schedule(at: .distantPast) { _ in timeline.mark("c") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "a b c")
    }
  }

  @Test func `with a past date begin their grid when they are made`() {
    withVirtualLoop { loop, time in
      time.advance(by: .milliseconds(130))
      let timeline = Timeline(of: loop)
      let timer = loop.schedule(at: at(0), every: .milliseconds(100)) { timer in
        timeline.mark("\(Int(time.milliseconds))")
        if time.now > at(300) { timer.invalidate() }
      }
      #expect(timer.nextFire == at(0))
      #expect(loop.nextFire(in: .default) == at(0))
      #expect(loop.run() == .finished)
      #expect(timeline.text == "130 sleep +100 wake 230 sleep +100 wake 330")
    }
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `with an interval of zero or less repeat every tenth of a millisecond`(interval: Duration) {
    withVirtualLoop { loop, time in
      let fired = Shared(0)
      let timer = loop.schedule(every: interval) { timer in
        fired.value += 1
        if fired.value == 10 { timer.invalidate() }
      }
      #expect(timer.interval == .microseconds(100))
      #expect(loop.run() == .finished)
      #expect(time.now == at(1))
    }
  }

  @Test func `that fire once have no interval`() {
    withVirtualLoop { loop, _ in
      #expect(Loop.Timer(after: .seconds(1)) { _ in }.interval == .zero)
      #expect(Loop.Timer(every: .seconds(3)) { _ in }.interval == .seconds(3))
    }
  }

  @Test func `beyond the end of the clock never come`() {
    withVirtualLoop { loop, _ in
      let timer = loop.schedule(at: .distantFuture, every: .seconds(Int64.max)) { _ in
        Issue.record("the end of time came")
      }
      #expect(timer.nextFire == .distantFuture)
      loop.schedule(after: .seconds(Int64.max)) { _ in Issue.record("the end of time came") }
      #expect(loop.run(in: .default, for: .seconds(1_000_000)) == .timedOut)
    }
  }

  // MARK: The grid

  @Test func `do not fire for dates they missed, and keep their grid`() {
    withVirtualLoop { loop, time in
      let fired = Shared<[Double]>([])
      loop.schedule(every: .milliseconds(50)) { timer in
        fired.value.append(time.milliseconds)
        if fired.value.count == 1 { time.advance(by: .milliseconds(170)) }
        if fired.value.count == 4 { timer.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(fired.value == [50, 250, 300, 350])
    }
  }

  @Test func `never drift, whatever their handlers take`() {
    withVirtualLoop { loop, time in
      let fired = Shared<[Double]>([])
      loop.schedule(every: .milliseconds(10)) { timer in
        fired.value.append(time.milliseconds)
        time.advance(by: milliseconds(3.3))
        if fired.value.count == 100 { timer.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(fired.value == (1...100).map { Double($0) * 10 })
    }
  }

  // apple/swift-corelibs-foundation's timerRepeats and WinObjC's: an hour of ticks.
  @Test func `fire an hour of dates in no time`() {
    withVirtualLoop { loop, time in
      let fired = Shared(0)
      loop.schedule(every: .milliseconds(100)) { timer in
        fired.value += 1
        if fired.value == 36_000 { timer.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(time.now == at(3_600_000))
      #expect(time.waits == 36_000)
    }
  }

  // gnustep/libs-base#791: waits cut to milliseconds polled 19 000 times in 3 s.
  @Test(arguments: [33_333, 400, 1])
  func `wait once for each date`(microseconds: Int) {
    withVirtualLoop { loop, time in
      let fired = Shared(0)
      loop.schedule(every: .microseconds(microseconds)) { timer in
        fired.value += 1
        if fired.value == 30 { timer.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(time.waits == 30 && time.sleeps == 30)
    }
  }

  // So many are collected in portions.
  @Test func `that are many and late fire in one pass, in order, each once`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, time in
      let fired = Shared<[Int]>([])
      func date(_ index: Int) -> Loop.Instant { at(Double((index * 7919) % 3_000 / 2)) }
      let timers = Shared<[Loop.Timer]>([])
      for index in 0..<3_000 {
        timers.value.append(
          loop.schedule(
            at: date(index), every: index % 5 == 0 ? .seconds(1_000) : nil,
            in: index % 3 == 0 ? .common : .default,
            tolerance: index % 7 == 0 ? .milliseconds(1) : .zero,
            base: index % 11 == 0 ? .continuous : .suspending
          ) { [unowned loop] _ in
            fired.value.append(index)
            guard fired.value.count == 1 else { return }
            timers.value[2_000].nextFire = at(100_000)
            timers.value[2_001].invalidate()
            loop.remove(timers.value[2_002], from: .common)
            loop.remove(timers.value[2_002], from: .default)
            // Its turn is in the next pass.
            loop.schedule(at: at(0)) { _ in fired.value.append(-1) }
          })
      }
      time.advance(by: .seconds(10))
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      let inOrder = timers.value.indices.sorted { (date($0), $0) < (date($1), $1) }
      #expect(fired.value == inOrder.filter { !(2_000...2_002).contains($0) })
      fired.value = []
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(fired.value == [-1])
      for timer in timers.value { timer.invalidate() }
    }
  }

  // gnustep/libs-base#704, gershwin-desktop/gershwin-workspace#53
  @Test func `may be a hundred thousand`() {
    withVirtualLoop { loop, time in
      let fired = Shared(0)
      let timers = (0..<100_000).map { index in
        loop.schedule(at: at(Double(1 + (index * 7919) % 100_000))) { _ in fired.value += 1 }
      }
      for (index, timer) in timers.enumerated() where index % 2 == 0 {
        timer.nextFire = at(Double(200_000 - index))
      }
      for (index, timer) in timers.enumerated() where index % 4 == 1 { timer.invalidate() }
      #expect(loop.run() == .finished)
      #expect(fired.value == 75_000)
      #expect(time.now == at(200_000))
    }
  }

  // MARK: Tolerance

  // swift-corelibs-foundation#5183: always zero on Linux.
  @Test func `keep their tolerance, between zero and half the interval`() {
    withVirtualLoop { loop, _ in
      let repeating = Loop.Timer(every: .milliseconds(100), tolerance: .milliseconds(20)) { _ in }
      #expect(repeating.tolerance == .milliseconds(20))
      repeating.tolerance = .milliseconds(80)
      #expect(repeating.tolerance == .milliseconds(50))
      repeating.tolerance = .milliseconds(-1)
      #expect(repeating.tolerance == .zero)
      let once = Loop.Timer(after: .milliseconds(1), tolerance: .seconds(10)) { _ in }
      #expect(once.tolerance == .seconds(10))
      #expect(Loop.Timer(after: .zero) { _ in }.tolerance == .zero)
    }
  }

  @Test func `with tolerance share a wake-up, never early, on their own grids`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let tolerant = loop.schedule(
        at: at(100), every: .milliseconds(200), tolerance: .milliseconds(50)
      ) { _ in timeline.mark("tolerant") }
      loop.schedule(at: at(140)) { _ in timeline.mark("exact") }
      loop.schedule(at: at(310)) { _ in
        timeline.mark("exact")
        tolerant.invalidate()
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +140 wake tolerant exact sleep +170 wake tolerant exact")
      #expect(time.sleeps == 2)
    }
  }

  @Test func `with tolerance alone wait to its end`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      for (index, tolerance) in [90, 30, 60].enumerated() {
        loop.schedule(after: .milliseconds(10 + index), tolerance: .milliseconds(tolerance)) { _ in
          timeline.mark("\(tolerance)")
        }
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +41 wake 90 30 60")
    }
  }

  @Test func `with tolerance use a wake-up that comes for something else`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .milliseconds(10), tolerance: .milliseconds(50)) { _ in
        timeline.mark("tick")
      }
      time.after(.milliseconds(9)) { loop.wakeUp() }
      time.after(.milliseconds(20)) { loop.wakeUp() }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +9 wake sleep +11 wake tick")
    }
  }

  // MARK: The clocks

  // WebKit/WebKit#53174, nodejs/node#20661: which clock counts while the lid is closed.
  @Test func `keep still in suspend, unless they ask for the clock that does not`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .seconds(10)) { _ in timeline.mark("suspending") }
      loop.schedule(after: .seconds(10), base: .continuous) { _ in timeline.mark("continuous") }
      time.after(.seconds(2)) {
        time.suspend(for: .seconds(600))
        loop.wakeUp()
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +2000 wake continuous sleep +8000 wake suspending")
    }
  }

  // golang/go#35012, crystal-lang/crystal#16516
  @Test func `that repeat fire once for all of a suspend`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let timer = loop.schedule(every: .seconds(1), base: .continuous) { _ in
        timeline.mark("tick")
      }
      time.after(milliseconds(1500)) { time.suspend(for: .seconds(3600)) }
      loop.schedule(after: milliseconds(2600)) { _ in timer.invalidate() }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +1000 wake tick sleep +500 wake tick sleep +500 wake tick sleep +600 wake")
    }
  }

  @Test func `of both clocks fire in the order they came due`() {
    withVirtualLoop { loop, time in
      time.suspend(for: .seconds(600))
      let timeline = Timeline(of: loop)
      loop.schedule(after: .milliseconds(5), base: .continuous) { _ in timeline.mark("a") }
      loop.schedule(after: .milliseconds(6)) { _ in timeline.mark("b") }
      loop.schedule(after: .milliseconds(7), base: .continuous) { _ in timeline.mark("c") }
      loop.schedule(after: .milliseconds(8)) { _ in timeline.mark("d") }
      time.after(.milliseconds(1)) { loop.perform { time.advance(by: .milliseconds(9)) } }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +1 wake +9 a b c d")
    }
  }

  @Test func `put off by one of the other clock are not fired early`() {
    withVirtualLoop { loop, time in
      time.suspend(for: .seconds(600))
      let timeline = Timeline(of: loop)
      let late = Loop.Timer(after: .milliseconds(2)) { _ in timeline.mark("late") }
      loop.schedule(after: .milliseconds(1), base: .continuous) { _ in
        timeline.mark("puts off")
        late.nextFire = at(50)
      }
      loop.add(late)
      loop.perform { time.advance(by: .milliseconds(5)) }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "+5 puts off sleep +45 wake late")
    }
  }

  @Test func `of the continuous clock are left out of what a mode's next date is`() {
    withVirtualLoop { loop, time in
      loop.schedule(after: .milliseconds(1), base: .continuous) { _ in }
      #expect(loop.nextFire(in: .default) == nil)
      loop.schedule(after: .milliseconds(5)) { _ in }
      #expect(loop.nextFire(in: .default) == at(5))
    }
  }
}
