// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Timers that change` {
  // MARK: In their handlers

  @Test func `are valid, in their mode, and show the date they serve`() {
    withVirtualLoop { loop, time in
      let once = Shared(0)
      let timer = loop.schedule(after: .milliseconds(5)) { timer in
        once.value += 1
        time.advance(by: .milliseconds(2))
        #expect(timer.isValid && loop.contains(timer, in: .default))
        #expect(timer.nextFire == at(5))
        #expect(loop.nextFire(in: .default) == at(5))
      }
      #expect(loop.run() == .finished)
      #expect(once.value == 1)
      #expect(!timer.isValid && !loop.contains(timer, in: .default))
      #expect(timer.nextFire == .distantPast)
      #expect(loop.nextFire(in: .default) == nil)
    }
  }

  @Test func `honour a later date and begin a new grid there`() {
    withVirtualLoop { loop, time in
      let fired = Shared<[Double]>([])
      loop.schedule(every: .milliseconds(10)) { timer in
        fired.value.append(time.milliseconds)
        if fired.value.count == 1 { timer.nextFire = at(23) }
        if fired.value.count == 3 { timer.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(fired.value == [10, 23, 33])
    }
  }

  @Test func `set to a past date fire again in the next pass`() {
    withVirtualLoop { loop, time in
      let fired = Shared<[Double]>([])
      loop.schedule(every: .milliseconds(10)) { timer in
        fired.value.append(time.milliseconds)
        time.advance(by: .milliseconds(1))
        if fired.value.count == 1 { timer.nextFire = at(0) }
        if fired.value.count == 3 { timer.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(fired.value == [10, 11, 21])
    }
  }

  @Test func `that fire once end, whatever date they set`() {
    withVirtualLoop { loop, time in
      let timer = loop.schedule(after: .milliseconds(1)) { timer in
        timer.nextFire = at(10)
      }
      #expect(loop.run() == .finished)
      #expect(!timer.isValid)
      #expect(time.now == at(1))
    }
  }

  // apple/swift-corelibs-foundation's timerTickOnce and timerInvalidate
  @Test func `may invalidate themselves`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.schedule(every: .milliseconds(1)) { timer in
        timeline.mark("tick")
        timer.invalidate()
        timer.invalidate()
        #expect(!timer.isValid)
      }
      loop.schedule(after: .milliseconds(2)) { timer in
        timeline.mark("once")
        timer.invalidate()
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +1 wake tick sleep +1 wake once")
    }
  }

  // CFRunLoop still fires one that was removed, if it has another mode.
  @Test func `that an earlier one ends, removes or puts off do not fire`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let timers = ["invalidated", "removed", "put off", "last"].map { name in
        Loop.Timer(at: at(5)) { _ in timeline.mark(name) }
      }
      loop.schedule(at: at(5)) { _ in
        timeline.mark("first")
        timers[0].invalidate()
        loop.remove(timers[1], from: .default)
        timers[2].nextFire = at(8)
      }
      for timer in timers { loop.add(timer) }
      loop.add(timers[1], to: .first)
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +5 wake first last sleep +3 wake put off")
      #expect(timers[1].isValid && loop.contains(timers[1], in: .first))
    }
  }

  @Test func `that are due when added by a handler fire in the next pass`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.observe(.beforeTimers) { _, _ in timeline.mark("pass") }
      loop.schedule(after: .milliseconds(1)) { _ in
        timeline.mark("outer")
        loop.schedule(at: .distantPast) { _ in timeline.mark("inner") }
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "pass sleep +1 wake outer pass inner")
    }
  }

  // joyent/libuv#1427: a zero-delay timer that arms itself again ran for ever in one turn.
  @Test func `that arm themselves again fire once a pass`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      @Sendable func again(_ left: Int) {
        timeline.mark("tick")
        guard left > 0 else { return }
        loop.schedule(after: .zero) { _ in again(left - 1) }
      }
      loop.observe(.beforeTimers) { _, _ in timeline.mark("pass") }
      loop.schedule(after: .zero) { _ in again(2) }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "pass tick pass tick pass tick")
      #expect(time.now == at(0))
    }
  }

  @Test func `do not fire in themselves, others do`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let slow = loop.schedule(every: .milliseconds(10)) { timer in
        timeline.mark("slow")
        _ = loop.run(in: .default, for: .milliseconds(25))
        timeline.mark("end")
      }
      let quick = loop.schedule(at: at(15), every: .milliseconds(10)) { _ in
        timeline.mark("quick")
      }
      loop.schedule(after: .milliseconds(42)) { _ in
        slow.invalidate()
        quick.invalidate()
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +10 wake slow sleep +5 wake quick sleep +10 wake quick sleep +10 wake quick "
          + "end sleep +5 wake slow sleep +2 wake end")
    }
  }

  // MARK: From outside

  @Test func `set earlier by another thread wake the loop`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let timer = loop.schedule(every: .seconds(60)) { timer in
        timeline.mark("tick")
        if time.now > at(20) { timer.invalidate() }
      }
      time.after(.milliseconds(3)) { timer.nextFire = at(10) }
      time.after(.milliseconds(11)) { timer.nextFire = .distantPast }
      time.after(.milliseconds(12)) { timer.nextFire = at(30) }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +3 wake sleep +7 wake tick sleep +1 wake tick sleep +1 wake sleep +18 wake tick"
      )
    }
  }

  @Test func `made by another thread take effect at once`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive()
      time.after(.milliseconds(100)) {
        loop.schedule(every: .milliseconds(100)) { timer in
          timeline.mark("tick")
          if time.now == at(300) { loop.stop() }
        }
      }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "sleep +100 wake sleep +100 wake tick sleep +100 wake tick")
    }
  }

  // CFRunLoop leaves the kernel's timer armed: one spurious wake-up at the old date.
  @Test func `that are gone wake nobody at their date`() {
    withVirtualLoop { loop, time in
      let timer = loop.schedule(after: .milliseconds(5)) { _ in }
      let removed = loop.schedule(after: .milliseconds(6)) { _ in }
      loop.keepAlive()
      timer.invalidate()
      loop.remove(removed, from: .default)
      let sleeps = Shared(0)
      loop.observe(.afterWaiting) { _, _ in sleeps.value += 1 }
      #expect(loop.run(in: .default, for: .milliseconds(100)) == .timedOut)
      #expect(sleeps.value == 1 && time.sleeps == 1)
    }
  }

  @Test func `fired by hand keep their dates, those that fire once end`() {
    withVirtualLoop { loop, time in
      let fired = Shared<[Double]>([])
      let repeating = loop.schedule(every: .milliseconds(10)) { timer in
        fired.value.append(time.milliseconds)
        if time.now == at(20) { timer.invalidate() }
      }
      let once = loop.schedule(after: .milliseconds(15)) { _ in fired.value.append(-1) }
      repeating.fire()
      once.fire()
      once.fire()
      #expect(repeating.isValid && !once.isValid)
      #expect(repeating.nextFire == at(10))
      #expect(loop.run() == .finished)
      #expect(fired.value == [0, -1, 10, 20])
      repeating.fire()
      #expect(fired.value == [0, -1, 10, 20])
    }
  }

  @Test func `fired by hand before any loop has them call their handler`() {
    let fired = Shared(0)
    let timer = Loop.Timer(after: .seconds(1)) { _ in fired.value += 1 }
    timer.fire()
    #expect(fired.value == 1 && !timer.isValid)
  }

  @Test func `cannot be fired by hand from another thread`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in
        let timer = loop.keepAlive()
        onNewThread { timer.fire() }
      }
    }
  }

  // MARK: Modes and loops

  @Test func `in two modes have one schedule`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let timer = Loop.Timer(every: .milliseconds(10)) { _ in
        timeline.mark(loop.currentMode == .first ? "first" : "default")
      }
      loop.add(timer)
      loop.add(timer)
      loop.add(timer, to: .first)
      _ = loop.run(in: .first, for: .milliseconds(15))
      _ = loop.run(in: .default, for: .milliseconds(15))
      #expect(
        timeline.text
          == "sleep +10 wake first sleep +5 wake sleep +5 wake default sleep +10 wake default")
      loop.remove(timer, from: .first)
      #expect(loop.contains(timer, in: .default) && !loop.contains(timer, in: .first))
      #expect(loop.run(in: .first) == .finished)
    }
  }

  @Test func `removed from everywhere stay valid and may join another loop`() {
    withVirtualLoop { loop, _ in
      let fired = Shared(0)
      let timer = loop.schedule(after: .milliseconds(5)) { _ in fired.value += 1 }
      loop.remove(timer, from: .default)
      #expect(timer.isValid)
      #expect(loop.run() == .finished)
      withVirtualLoop { other, _ in
        other.add(timer)
        #expect(other.run() == .finished)
      }
      #expect(fired.value == 1)
    }
  }

  @Test func `of one loop cannot be added to another`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in
        let timer = loop.keepAlive()
        withVirtualLoop { other, _ in other.add(timer) }
      }
    }
  }

  @Test func `of a loop whose thread ended stay valid and may join another`() {
    let fired = Shared(0)
    let timer = withVirtualLoop { loop, _ in
      loop.schedule(after: .milliseconds(5)) { _ in fired.value += 1 }
    }
    #expect(timer.isValid)
    withVirtualLoop { loop, _ in
      loop.add(timer)
      #expect(loop.run() == .finished)
    }
    #expect(fired.value == 1)
  }

  @Test func `that are invalid are not added, armed or counted`() {
    withVirtualLoop { loop, _ in
      let timer = Loop.Timer(after: .zero) { _ in Issue.record("fired") }
      timer.invalidate()
      timer.nextFire = at(5)
      loop.add(timer)
      timer.fire()
      #expect(timer.nextFire == .distantPast)
      #expect(!loop.contains(timer, in: .default))
      #expect(loop.run() == .finished)
    }
  }

  // MARK: Memory

  // Foundation never frees a timer, nor what its closure holds.
  @Test func `are freed with what they hold when they fired once or are invalidated`() {
    withVirtualLoop { loop, _ in
      func make(_ repeats: Bool) -> (timer: Watched<Loop.Timer>, payload: Watched<Shared<Int>>) {
        let payload = Shared(0)
        let timer = loop.schedule(
          at: at(1), every: repeats ? .milliseconds(1) : nil
        ) { timer in
          _ = payload
          if repeats { timer.invalidate() }
        }
        return (Watched(timer), Watched(payload))
      }
      let all = [make(false), make(true)]
      #expect(all.allSatisfy { $0.timer.isAlive && $0.payload.isAlive })
      #expect(loop.run() == .finished)
      #expect(all.allSatisfy { !$0.timer.isAlive && !$0.payload.isAlive })
    }
  }

  @Test func `free what they hold when they are invalidated, though somebody keeps them`() {
    withVirtualLoop { loop, time in
      let payload = { Shared(0) }
      var (one, two): (Shared<Int>?, Shared<Int>?) = (payload(), payload())
      let (oneWatched, twoWatched) = (Watched(one), Watched(two))
      let here = loop.schedule(after: .seconds(1)) { [one] _ in _ = one }
      let elsewhere = loop.schedule(after: .seconds(1)) { [two] _ in _ = two }
      (one, two) = (nil, nil)
      here.invalidate()
      #expect(!oneWatched.isAlive && twoWatched.isAlive)
      time.after(.milliseconds(1)) { elsewhere.invalidate() }
      #expect(loop.run() == .finished)
      #expect(time.now == at(1))
      #expect(!twoWatched.isAlive)
    }
  }
}
