// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Blocks` {
  @Test func `run once, in the order they were queued`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      for index in 0..<5 { loop.perform { timeline.mark("\(index)") } }
      #expect(loop.run() == .finished)
      #expect(loop.run() == .finished)
      #expect(timeline.text == "0 1 2 3 4")
    }
  }

  @Test func `of other modes keep their order and wait`() {
    withVirtualLoop(commonModes: [.default, .second]) { loop, _ in
      let timeline = Timeline(of: loop)
      loop.perform(in: .first) { timeline.mark("f1") }
      loop.perform { timeline.mark("d1") }
      loop.perform(in: .common) { timeline.mark("c") }
      loop.perform(in: .first) { timeline.mark("f2") }
      loop.perform(in: [.second, .first]) { timeline.mark("either") }
      loop.perform { timeline.mark("d2") }
      #expect(loop.run(in: .second) == .finished)
      #expect(timeline.text == "c either")
      #expect(loop.run(in: .first) == .finished)
      #expect(timeline.text == "c either f1 f2")
      #expect(loop.run() == .finished)
      #expect(timeline.text == "c either f1 f2 d1 d2")
    }
  }

  @Test func `that wait for their mode stay ahead of what is queued meanwhile`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.perform(in: .first) { timeline.mark("early") }
      loop.perform { loop.perform(in: .first) { timeline.mark("late") } }
      #expect(loop.run() == .finished)
      #expect(loop.run(in: .first) == .finished)
      #expect(timeline.text == "early late")
    }
  }

  // swiftlang/swift-corelibs-xctest#531: a waiter in one mode deadlocks work meant for another.
  @Test func `for several modes run in the first that comes, once`() {
    withVirtualLoop { loop, _ in
      let runs = Shared(0)
      loop.perform(in: [.default, .first]) { runs.value += 1 }
      loop.keepAlive()
      loop.keepAlive(in: .first)
      _ = loop.run(in: .first, for: .zero)
      _ = loop.run(in: .default, for: .zero)
      #expect(runs.value == 1)
    }
  }

  @Test func `run in a mode that an earlier one made common`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.perform(in: .first) {
        timeline.mark("makes common")
        loop.addCommonMode(.first)
      }
      loop.perform(in: .common) { timeline.mark("common") }
      #expect(loop.run(in: .first) == .finished)
      #expect(timeline.text == "makes common common")
    }
  }

  // In CFRunLoop the second waits for something else to wake the loop.
  @Test func `queued by a block keep the loop awake`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      loop.keepAlive()
      loop.perform {
        timeline.mark("one")
        loop.perform {
          timeline.mark("two")
          loop.perform {
            timeline.mark("three")
            loop.stop()
          }
        }
      }
      #expect(loop.run() == .stopped)
      #expect(time.now == at(0))
      #expect(
        timeline.text
          == "entry beforeTimers beforeSources one beforeWaiting afterWaiting two "
          + "beforeTimers beforeSources three beforeWaiting afterWaiting exit")
    }
  }

  // swift-corelibs-foundation has no wake-up, so a block from a thread waited for the next event;
  // ably/ably-cocoa#531, facebook/AsyncDisplayKit#1416.
  @Test func `from another thread wake a sleeping loop`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive()
      time.after(.milliseconds(100)) {
        loop.perform { timeline.mark("one") }
        loop.perform { timeline.mark("two") }
      }
      #expect(loop.run(in: .default, for: .milliseconds(600)) == .timedOut)
      #expect(timeline.text == "sleep +100 wake one two sleep +500 wake")
    }
  }

  /// Two runs pass over blocks of a third mode, the inner one over the newer.
  @Test func `passed over by nested runs keep their order`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.keepAlive(in: .first)
      loop.perform(in: .second) { timeline.mark("one") }
      loop.perform {
        loop.perform(in: .second) { timeline.mark("two") }
        _ = loop.run(in: .first, for: .zero)
        loop.perform(in: .second) { timeline.mark("three") }
      }
      _ = loop.run(in: .default, for: .zero)
      #expect(loop.run(in: .second) == .finished)
      #expect(timeline.text == "one two three")
    }
  }

  @Test func `for a mode that does not run do not keep the loop awake`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      loop.perform(in: .first) { Issue.record("in the wrong mode") }
      #expect(loop.run(in: .default, for: .milliseconds(5)) == .timedOut)
      #expect(time.waits == 1)
    }
  }

  // crossroadlabs/RunLoop
  @Test func `behind a stop run in the pass that it ends, later ones wait`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.perform {
        timeline.mark("stop")
        loop.stop()
      }
      loop.perform {
        timeline.mark("behind")
        loop.perform {
          loop.perform { timeline.mark("later") }
        }
      }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "stop behind")
      #expect(loop.run() == .finished)
      #expect(timeline.text == "stop behind later")
    }
  }

  @Test func `are freed once they ran`() {
    withVirtualLoop { loop, _ in
      var payload: Shared<Int>? = Shared(0)
      let watched = Watched(payload)
      loop.perform { [payload] in _ = payload }
      payload = nil
      loop.perform { #expect(!watched.isAlive) }
      #expect(watched.isAlive)
      #expect(loop.run() == .finished)
    }
  }

  @Test func `are freed unrun when their loop's thread ends`() {
    let ran = Shared(false)
    weak var watched: Shared<Int>?
    withVirtualLoop { loop, _ in
      let payload = Shared(0)
      watched = payload
      loop.perform {
        ran.value = true
        _ = payload
      }
    }
    #expect(!ran.value && watched == nil)
  }

  @Test func `that run and free something may come back to the loop from its deinit`() {
    final class Caller: Sendable {
      let loop: Loop
      let timeline: Timeline
      init(_ loop: Loop, _ timeline: Timeline) {
        self.loop = loop
        self.timeline = timeline
      }
      deinit {
        timeline.mark("deinit")
        loop.perform { [timeline] in timeline.mark("from deinit") }
      }
    }
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      var caller: Caller? = Caller(loop, timeline)
      loop.perform { [caller] in _ = caller }
      caller = nil
      #expect(loop.run() == .finished)
      #expect(timeline.text == "deinit from deinit")
    }
  }

  @Test func `without a mode trap`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in loop.perform(in: [Loop.Mode]()) {} }
    }
  }

  @Test func `a hundred thousand from another thread all run`() {
    withVirtualLoop { loop, time in
      let sum = Shared(0)
      time.after(.milliseconds(1)) {
        for index in 0..<100_000 { loop.perform { sum.value += index } }
        loop.perform { loop.stop() }
      }
      loop.keepAlive()
      #expect(loop.run() == .stopped)
      #expect(sum.value == 99_999 * 50_000)
      #expect(time.sleeps == 1)
    }
  }
}
