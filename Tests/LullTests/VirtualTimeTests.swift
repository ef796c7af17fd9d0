// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Virtual time` {
  @Test func `begins at zero and passes in sleep and in work`() {
    withVirtualLoop { loop, time in
      #expect(time.now == at(0) && loop.now == at(0))
      time.advance(by: .milliseconds(3))
      #expect(time.now == at(3) && loop.now == at(3))
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(4))
      #expect(time.now == at(7))
    }
  }

  @Test func `runs scripts in the order of their moments, then as they were written`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive()
      for (name, delay) in [("c", 5), ("a", 2), ("d", 5), ("b", 2), ("now", 0)] {
        time.after(.milliseconds(delay)) {
          #expect(!loop.isCurrent)
          timeline.mark(name)
        }
      }
      _ = loop.run(in: .default, for: .milliseconds(6))
      #expect(timeline.text == "now sleep +2 a b +3 c d +1 wake")
    }
  }

  @Test func `runs scripts during work`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      time.after(.milliseconds(2)) { timeline.mark("script") }
      timeline.mark("work")
      time.advance(by: .milliseconds(5))
      timeline.mark("end")
      #expect(timeline.text == "work +2 script +3 end")
    }
  }

  @Test func `lets scripts write scripts`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      @Sendable func again(_ left: Int) {
        timeline.mark("\(left)")
        if left > 0 { time.after(.milliseconds(1)) { again(left - 1) } }
      }
      loop.keepAlive()
      time.after(.milliseconds(1)) { again(2) }
      _ = loop.run(in: .default, for: .milliseconds(5))
      #expect(timeline.text == "sleep +1 2 +1 1 +1 0 +2 wake")
    }
  }

  @Test func `is what timers go by that a script makes`() {
    withVirtualLoop { loop, time in
      let made = Shared<[Loop.Instant]>([])
      loop.keepAlive()
      time.after(.milliseconds(2)) {
        made.value.append(Loop.Timer(after: .milliseconds(1)) { _ in }.nextFire)
        made.value.append(loop.now)
      }
      _ = loop.run(in: .default, for: .milliseconds(3))
      #expect(made.value == [at(3), at(2)])
    }
  }

  @Test func `traps when a loop would sleep for ever`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in
        loop.add(Loop.Source { _ in })
        loop.run()
      }
    }
  }

  @Test func `does what it is told when a loop would sleep for ever`() {
    withVirtualLoop { loop, time in
      let asked = Shared(0)
      loop.add(Loop.Source { _ in })
      time.whenAsleepForEver {
        asked.value += 1
        if asked.value == 3 { loop.stop() } else { loop.wakeUp() }
      }
      #expect(loop.run() == .stopped)
      #expect(asked.value == 3 && time.now == at(0))
    }
  }

  @Test func `stands still in suspend, except for the clock that counts it`() {
    withVirtualLoop { loop, time in
      time.suspend(for: .seconds(5))
      #expect(time.now == at(0))
      let timer = Loop.Timer(after: .seconds(1), base: .continuous) { _ in }
      #expect(timer.nextFire == at(6000))
    }
  }

  @Test func `reads the last step of a coarse clock, and sleeps to the next`() {
    withVirtualLoop(clockGranularity: .milliseconds(4)) { loop, time in
      time.advance(by: .milliseconds(3))
      #expect(loop.now == at(0) && time.now == at(3))
      time.advance(by: .milliseconds(3))
      #expect(loop.now == at(4) && time.now == at(6))
      loop.keepAlive()
      // From what the clock reads.
      _ = loop.run(in: .default, for: .milliseconds(5))
      #expect(time.now == at(12))
    }
  }

  @Test func `counts waits, and those of them that slept`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(1))
      #expect(time.waits == 1 && time.sleeps == 1)
      loop.wakeUp()
      loop.observe(.beforeWaiting, repeats: false) { _, _ in loop.wakeUp() }
      _ = loop.run(in: .default, for: .milliseconds(1))
      #expect(time.sleeps == 2)
    }
  }

  @Test func `hands on what its body throws`() {
    struct Oops: Error {}
    #expect(throws: Oops.self) { try withVirtualLoop { _, _ in throw Oops() } }
    #expect(throws: Oops.self) { try onNewThread { throw Oops() } }
  }
}

@Suite struct `Timelines` {
  @Test func `say time in milliseconds, as short as can be`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      for microseconds in [1000, 1500, 250, 20, 1, 12_345, 100_000] {
        time.advance(by: .microseconds(microseconds))
        timeline.mark("|")
      }
      #expect(
        timeline.text == "+1 | +1.5 | +0.25 | +0.02 | +0.001 | +12.345 | +100 |")
    }
  }

  @Test func `draw a sleep only if time passed in it`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .zero) { _ in timeline.mark("now") }
      loop.schedule(after: .milliseconds(1)) { _ in
        timeline.mark("work")
        time.advance(by: .milliseconds(2))
      }
      loop.schedule(after: .milliseconds(2)) { _ in timeline.mark("then") }
      _ = loop.run()
      #expect(timeline.text == "now sleep +1 wake work +2 then")
    }
  }

  @Test func `begin anew when they are cleared`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      timeline.mark("old")
      time.advance(by: .milliseconds(5))
      timeline.clear()
      time.advance(by: .milliseconds(1))
      timeline.mark("new")
      #expect(timeline.text == "+1 new")
    }
  }
}

/// Misuse traps, and says what to do instead; what races by nature does nothing.
@Suite struct `Thread rules` {
  @Test func `trap a run off the loop's thread`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in
        loop.keepAlive()
        onNewThread { _ = loop.run(in: .default, for: .zero) }
      }
    }
  }

  @Test func `trap questions about contents off the loop's thread`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in onNewThread { _ = loop.modes } }
    }
  }

  @Test func `trap a descriptor source that another loop has`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, time in
        let source = Loop.DescriptorSource(time.makeDescriptor().number, for: .readable) { _, _ in }
        try? loop.add(source)
        withVirtualLoop { other, _ in try? other.add(source) }
      }
    }
  }

  @Test func `let a thread talk to a loop whose thread has ended`() {
    let loop = withVirtualLoop { loop, _ in loop }
    let source = Loop.Source { _ in }
    let timer = loop.schedule(after: .zero) { _ in }
    loop.add(source)
    source.signal()
    loop.perform { Issue.record("run by nobody") }
    loop.wakeUp()
    loop.stop()
    loop.addCommonMode(.first)
    loop.remove(timer, from: .default)
    source.invalidate()
    timer.invalidate()
    #expect(!timer.isValid && !source.isValid)
  }

}

@Suite struct `The main loop` {
  @Test func `has default, modal panel and event tracking for common modes`() {
    withVirtualMainLoop { loop, _ in
      #expect(loop.modes == [.default, .modalPanel, .eventTracking])
      let timer = loop.keepAlive(in: .common)
      for mode in [Loop.Mode.default, .modalPanel, .eventTracking, .common] {
        #expect(loop.contains(timer, in: mode))
      }
      #expect(!loop.contains(timer, in: .connectionReply))
    }
  }

  // swift-corelibs-foundation#258, #4191: the main queue may always bring something to its common
  // modes, to no other.
  @Test func `is never empty in its common modes`() {
    withVirtualMainLoop { loop, time in
      #expect(loop.run(in: .default, for: .milliseconds(5)) == .timedOut)
      #expect(loop.run(in: .eventTracking, for: .milliseconds(5)) == .timedOut)
      #expect(time.now == at(10))
      #expect(loop.run(in: .connectionReply, for: .milliseconds(5)) == .finished)
      loop.addCommonMode(.first)
      #expect(loop.run(in: .first, for: .milliseconds(5)) == .finished)
      loop.perform(in: .first) {}
      #expect(loop.run(in: .first, for: .milliseconds(5)) == .timedOut)
    }
  }
}
