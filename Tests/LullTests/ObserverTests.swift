// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Observers` {
  // Foundation's test interface had every constant wrong.
  @Test func `are told by CFRunLoop's bits`() {
    let activities: [(Loop.Activities, UInt32)] = [
      (.entry, 1), (.beforeTimers, 2), (.beforeSources, 4), (.beforeWaiting, 32),
      (.afterWaiting, 64), (.exit, 128), (.all, 0x0FFF_FFFF),
    ]
    for (activity, bits) in activities { #expect(activity.rawValue == bits) }
  }

  @Test(arguments: [
    Loop.Activities.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
  ])
  func `are called for what they asked for, and for nothing else`(activity: Loop.Activities) {
    withVirtualLoop { loop, _ in
      let seen = Shared<[Loop.Activities]>([])
      loop.observe(activity) { _, activity in seen.value.append(activity) }
      loop.schedule(after: .milliseconds(1)) { _ in }
      #expect(loop.run() == .finished)
      #expect(seen.value == [activity])
    }
  }

  @Test func `are called by order, equal orders as added`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      for (name, order) in [("c", 1), ("a", -1), ("d", 1), ("b", 0), ("z", .max), ("A", .min)] {
        loop.observe(.beforeTimers, order: order) { _, _ in timeline.mark(name) }
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "A a b c d z")
    }
  }

  @Test func `added during a notification wait for the next`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.observe(.beforeTimers, repeats: false) { _, _ in
        timeline.mark("first")
        loop.observe(.beforeTimers) { _, _ in timeline.mark("new") }
        loop.observe(.beforeSources) { _, _ in timeline.mark("later") }
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .zero)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "first later new later")
    }
  }

  // CFRunLoop still calls one that was merely removed.
  @Test func `that an earlier one removed or invalidated are not called`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let removed = Loop.Observer(.beforeTimers, order: 2) { _, _ in timeline.mark("removed") }
      let invalidated = Loop.Observer(.beforeTimers, order: 3) { _, _ in
        timeline.mark("invalidated")
      }
      loop.observe(.beforeTimers, order: 1) { _, _ in
        timeline.mark("first")
        loop.remove(removed, from: .default)
        invalidated.invalidate()
      }
      loop.add(removed)
      loop.add(invalidated)
      loop.observe(.beforeTimers, order: 4) { _, _ in timeline.mark("last") }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "first last")
      #expect(removed.isValid && !invalidated.isValid)
    }
  }

  @Test func `that do not repeat end with their first call, whatever it was for`() {
    withVirtualLoop { loop, _ in
      let seen = Shared<[Bool]>([])
      let observer = loop.observe(.all, repeats: false) { observer, activity in
        #expect(activity == .entry)
        seen.value.append(observer.isValid)
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(5))
      #expect(seen.value == [true])
      #expect(!observer.isValid && !loop.contains(observer, in: .default))
    }
  }

  // WebKit/WebKit#51678: once an iteration, not twice, and no entry or exit in between.
  @Test func `are called once a pass`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.observe([.entry, .beforeWaiting, .exit]) { _, activity in timeline.mark("\(activity)") }
      let timer = loop.schedule(every: .milliseconds(1)) { _ in timeline.mark("tick") }
      loop.schedule(after: .milliseconds(3)) { _ in timer.invalidate() }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "entry beforeWaiting sleep +1 wake tick beforeWaiting sleep +1 wake tick "
          + "beforeWaiting sleep +1 wake tick exit")
    }
  }

  @Test func `are not called again from inside themselves, others are`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.observe(.beforeWaiting, order: 0) { _, _ in
        timeline.mark("one")
        _ = loop.run(in: .default, for: .milliseconds(1))
        timeline.mark("end")
      }
      loop.observe(.beforeWaiting, order: 1) { _, _ in timeline.mark("two") }
      loop.schedule(after: .milliseconds(1)) { _ in loop.stop() }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "one two sleep +1 wake end two")
    }
  }

  // A signal without a wake-up on the way to sleep went unserved until something else came.
  @Test func `may signal, perform or schedule on the way to sleep`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let source = Loop.Source { _ in timeline.mark("source") }
      loop.add(source)
      let step = Shared(0)
      loop.observe(.beforeWaiting) { _, _ in
        step.value += 1
        switch step.value {
        case 1: source.signal()
        case 2: loop.perform { timeline.mark("block") }
        case 3: loop.schedule(after: .zero) { _ in timeline.mark("tick") }
        default: loop.stop()
        }
      }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "source block tick")
      #expect(time.sleeps == 0)
    }
  }

  @Test func `of one loop cannot be added to another`() async {
    await #expect(processExitsWith: .failure) {
      withVirtualLoop { loop, _ in
        let observer = loop.observe(.all) { _, _ in }
        withVirtualLoop { other, _ in other.add(observer) }
      }
    }
  }

  @Test func `let go of what they hold when they are invalidated`() {
    withVirtualLoop { loop, _ in
      var payload: Shared<Int>? = Shared(0)
      weak let watched = payload
      let observer = loop.observe(.all) { [payload] _, _ in _ = payload }
      payload = nil
      #expect(watched != nil)
      observer.invalidate()
      #expect(watched == nil)
    }
  }
}
