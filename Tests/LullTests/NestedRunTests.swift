// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Stops` {
  @Test func `wake a run that sleeps`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      time.after(.milliseconds(3)) { loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(time.now == at(3))
    }
  }

  @Test func `end a run in the pass they come in`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.schedule(every: .milliseconds(1)) { _ in
        timeline.mark("tick")
        loop.stop()
        loop.perform { timeline.mark("block") }
      }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "sleep +1 wake tick block")
    }
  }

  // CodeFX-org/selection-hook#23, libimobiledevice/libirecovery#84: a stop before the run was lost.
  @Test func `before a run end it, and only that one`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      loop.stop()
      loop.stop()
      #expect(loop.run() == .stopped)
      #expect(time.now == at(0))
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .timedOut)
    }
  }

  @Test func `from another thread before a run end it`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      onNewThread { loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(time.now == at(0))
    }
  }

  @Test func `that a run did not report stay for the next`() {
    withVirtualLoop { loop, _ in
      let source = Loop.Source { _ in loop.stop() }
      loop.add(source)
      source.signal()
      let first = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
      #expect(first == .handledSource)
      #expect(loop.run() == .stopped)

      source.signal()
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(loop.run() == .stopped)
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .timedOut)
    }
  }

  @Test func `that an empty mode did not report stay for the next run`() {
    withVirtualLoop { loop, _ in
      loop.stop()
      #expect(loop.run() == .finished)
      loop.keepAlive()
      #expect(loop.run() == .stopped)
    }
  }

  @Test func `in an exit observer end the next run`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      loop.observe(.exit, repeats: false) { _, _ in loop.stop() }
      #expect(loop.run(in: .default, for: .milliseconds(2)) == .timedOut)
      #expect(loop.run() == .stopped)
      #expect(time.now == at(2))
    }
  }

  @Test func `of a nested run end it alone`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.keepAlive(in: .first)
      loop.schedule(after: .milliseconds(1), in: .first) { _ in loop.stop() }
      loop.schedule(after: .milliseconds(1)) { _ in
        timeline.mark("\(loop.run(in: .first))")
      }
      loop.schedule(after: .milliseconds(3)) { _ in timeline.mark("tick") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +1 wake stopped sleep +2 wake tick")
    }
  }

  @Test func `before a nested run end the outer one, not it`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive()
      loop.keepAlive(in: .first)
      loop.schedule(after: .milliseconds(1)) { _ in
        loop.stop()
        timeline.mark("\(loop.run(in: .first, for: .milliseconds(2)))")
      }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "sleep +1 wake sleep +2 wake timedOut")
    }
  }

  @Test func `of a nested run leave the outer one's stop alone`() {
    withVirtualLoop { loop, time in
      let inner = Shared<Loop.RunResult?>(nil)
      loop.keepAlive()
      loop.schedule(after: .milliseconds(1), in: .first) { _ in loop.stop() }
      loop.schedule(after: .milliseconds(1)) { _ in
        loop.stop()
        inner.value = loop.run(in: .first)
      }
      #expect(loop.run(in: .default, for: .milliseconds(50)) == .stopped)
      #expect(inner.value == .stopped)
      #expect(time.now == at(1))
    }
  }

  // crossroadlabs/RunLoop: four levels, a stop each.
  @Test func `end as many nested runs as there are stops`() {
    withVirtualLoop { loop, time in
      let results = Shared<[String]>([])
      let modes = (0..<70).map { Loop.Mode("nested \($0)") }
      @Sendable func nest(_ depth: Int) {
        guard depth < modes.count else { return loop.stop() }
        loop.keepAlive(in: modes[depth])
        loop.schedule(after: .milliseconds(1), in: modes[depth]) { _ in
          nest(depth + 1)
          if depth + 1 < modes.count { loop.stop() }
        }
        results.value.append("\(loop.run(in: modes[depth]))")
      }
      nest(0)
      #expect(results.value == Array(repeating: "stopped", count: 70))
      #expect(time.now == at(70))
      loop.keepAlive()
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .timedOut)
    }
  }
}

@Suite struct `Nested runs` {
  @Test func `have the current mode while they last`() {
    withVirtualLoop { loop, _ in
      let seen = Shared<[Loop.Mode?]>([loop.currentMode])
      loop.schedule(after: .milliseconds(1)) { _ in
        seen.value.append(loop.currentMode)
        #expect(loop.run(in: .first) == .finished)
        seen.value.append(loop.currentMode)
      }
      loop.schedule(after: .milliseconds(2), in: .first) { _ in
        seen.value.append(loop.currentMode)
      }
      #expect(loop.run() == .finished)
      #expect(seen.value == [nil, .default, .first, .default])
      #expect(loop.currentMode == nil)
    }
  }

  @Test func `fire other timers but not the one that runs them`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.schedule(every: .milliseconds(2)) { timer in
        timeline.mark("outer")
        _ = loop.run(in: .default, for: .milliseconds(5))
        timer.invalidate()
      }
      let inner = loop.schedule(every: .milliseconds(3)) { _ in timeline.mark("inner") }
      loop.schedule(after: .milliseconds(8)) { _ in inner.invalidate() }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +2 wake outer sleep +1 wake inner sleep +3 wake inner sleep +1 wake "
          + "sleep +1 wake")
    }
  }

  // A wake-up that a nested run consumed left the outer one asleep with a signalled source.
  @Test func `leave a signal for the run around them`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let source = Loop.Source { _ in
        timeline.mark("source")
        loop.stop()
      }
      loop.add(source, to: .first)
      loop.keepAlive(in: .second)
      loop.observe(.beforeWaiting, in: .first, repeats: false) { _, _ in
        timeline.mark("\(loop.run(in: .second, for: .milliseconds(4)))")
      }
      time.after(.milliseconds(2)) {
        source.signal()
        loop.wakeUp()
      }
      #expect(loop.run(in: .first, for: .milliseconds(500)) == .stopped)
      #expect(timeline.text == "sleep +2 wake sleep +2 wake timedOut source")
    }
  }

  @Test func `leave a wake-up for the run around them`() {
    withVirtualLoop { loop, time in
      let passes = Shared(0)
      loop.keepAlive(in: .first)
      loop.keepAlive(in: .second)
      loop.observe(.beforeTimers, in: .first) { _, _ in
        passes.value += 1
        if passes.value == 2 { loop.stop() }
      }
      loop.observe(.beforeWaiting, in: .first, repeats: false) { _, _ in
        _ = loop.run(in: .second, for: .milliseconds(4))
      }
      time.after(.milliseconds(2)) { loop.wakeUp() }
      #expect(loop.run(in: .first) == .stopped)
      #expect(time.now == at(4))
    }
  }

  @Test func `leave a block for the run around them`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.keepAlive(in: .first)
      loop.keepAlive(in: .second)
      loop.observe(.beforeWaiting, in: .first, repeats: false) { _, _ in
        _ = loop.run(in: .second, for: .milliseconds(4))
      }
      time.after(.milliseconds(2)) {
        loop.perform(in: .first) {
          timeline.mark("block")
          loop.stop()
        }
      }
      #expect(loop.run(in: .first) == .stopped)
      #expect(timeline.text == "sleep +2 wake sleep +2 wake block")
    }
  }

  @Test func `do not run the blocks behind the one that runs them`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.perform {
        timeline.mark("begin")
        loop.perform { timeline.mark("new") }
        _ = loop.run(in: .default, for: .zero)
        timeline.mark("end")
      }
      loop.perform { timeline.mark("behind") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "begin new end behind")
    }
  }

  @Test func `perform the sources that the outer pass has not got to, once`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let first = Loop.Source(order: 1) { _ in
        timeline.mark("first")
        _ = loop.run(in: .default, for: .zero)
        timeline.mark("end")
      }
      let second = Loop.Source(order: 2) { _ in
        timeline.mark("second")
      }
      loop.add(first)
      loop.add(second)
      first.signal()
      second.signal()
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(timeline.text == "first second end")
    }
  }

  // A dialog counts how deep it is nested to keep a fast timer only meanwhile: go-gui#406.
  @Test func `of a mode are counted by its entry and exit observers`() {
    withVirtualLoop { loop, _ in
      let depths = Shared<[Int]>([0])
      loop.observe([.entry, .exit], in: .first) { _, activity in
        depths.value.append(depths.value.last! + (activity == .entry ? 1 : -1))
      }
      loop.schedule(after: .zero, in: .first) { _ in
        // A timer that fires is still in its mode, so the inner run needs an end of its own.
        #expect(loop.run(in: .first, for: .milliseconds(1)) == .timedOut)
      }
      #expect(loop.run(in: .first) == .finished)
      #expect(depths.value == [0, 1, 2, 1, 0])
    }
  }
}
