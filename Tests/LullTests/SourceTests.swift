// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Sources` {
  @Test func `signalled many times are performed once`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let source = Loop.Source { source in
        timeline.mark("source")
        #expect(!source.isSignalled)
      }
      loop.add(source)
      #expect(!source.isSignalled)
      for _ in 0..<5 { source.signal() }
      #expect(source.isSignalled)
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .timedOut)
      #expect(timeline.text == "source sleep +1 wake")
    }
  }

  @Test func `are performed by order, then in the order they were signalled`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      var sources: [String: Loop.Source] = [:]
      for (name, order) in ["late": 5, "b": 0, "a": 0, "early": -5, "last": Int.max] {
        let source = Loop.Source(order: order) { _ in timeline.mark(name) }
        loop.add(source)
        sources[name] = source
      }
      for name in ["last", "late", "a", "early", "b", "a"] { sources[name]!.signal() }
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "early a b late last")
    }
  }

  @Test func `that signal themselves are performed again in the next pass`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let left = Shared(3)
      let source = Loop.Source { source in
        timeline.mark("source")
        left.value -= 1
        if left.value > 0 { source.signal() } else { loop.stop() }
      }
      loop.observe(.beforeTimers) { _, _ in timeline.mark("pass") }
      loop.add(source)
      source.signal()
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "pass source pass source pass source")
    }
  }

  @Test func `run one by one when a run returns after each, in order, and none is lost`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      for name in ["a", "b", "c"] {
        let source = Loop.Source { _ in timeline.mark(name) }
        loop.add(source)
        source.signal()
      }
      for count in 1...3 {
        let result = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
        #expect(result == .handledSource)
        #expect(timeline.text.split(separator: " ").count == count)
      }
      #expect(timeline.text == "a b c")
      let result = loop.run(in: .default, for: .zero, returnAfterSourceHandled: true)
      #expect(result == .timedOut)
    }
  }

  // CFRunLoop still performs one that was merely removed.
  @Test func `that an earlier one removed or invalidated are not performed`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let others = ["removed", "invalidated", "last"].enumerated().map { index, name in
        Loop.Source(order: index) { _ in timeline.mark(name) }
      }
      let first = Loop.Source(order: -1) { _ in
        timeline.mark("first")
        loop.remove(others[0], from: .default)
        others[1].invalidate()
      }
      for source in [first] + others {
        loop.add(source)
        source.signal()
      }
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "first last")
      // A signal stays until it is performed.
      loop.add(others[0])
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "first last removed")
    }
  }

  // In CFRunLoop the last one of the pass decided.
  /// Taken out and added again it sits elsewhere in the loop, and its signal is the same.
  @Test func `that an earlier one took out and added again are performed, once`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let second = Loop.Source(order: 1) { source in
        timeline.mark("second")
        source.signal()
      }
      let first = Loop.Source { _ in
        timeline.mark("first")
        loop.remove(second, from: .default)
        loop.add(second)
      }
      for source in [first, second] {
        loop.add(source)
        source.signal()
      }
      loop.observe(.beforeTimers) { _, _ in timeline.mark("pass") }
      for _ in 0..<2 { _ = loop.run(in: .default, for: .zero) }
      #expect(timeline.text == "pass first second pass second")
    }
  }

  @Test func `count as handled if any of the pass was`() {
    withVirtualLoop { loop, time in
      let last = Loop.Source(order: 2) { _ in Issue.record("performed") }
      let first = Loop.Source(order: 1) { _ in last.invalidate() }
      loop.add(first)
      loop.add(last)
      first.signal()
      last.signal()
      let result = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
      #expect(result == .handledSource)
      #expect(time.now == at(0))
    }
  }

  @Test func `wake a sleeping loop when they are signalled`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let source = Loop.Source { _ in timeline.mark("source") }
      loop.add(source)
      time.after(.milliseconds(3)) { source.signal() }
      let result = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
      #expect(result == .handledSource)
      #expect(timeline.text == "sleep +3 wake source")
    }
  }

  @Test func `keep a signal until a mode that has them runs`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let source = Loop.Source { _ in timeline.mark("source") }
      source.signal()
      loop.add(source, to: .first)
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(1))
      _ = loop.run(in: .first, for: .zero)
      #expect(timeline.text == "sleep +1 wake source")
    }
  }

  @Test func `that are invalid ignore signals`() {
    withVirtualLoop { loop, _ in
      let source = Loop.Source { _ in Issue.record("performed") }
      loop.add(source)
      source.signal()
      source.invalidate()
      source.signal()
      #expect(!source.isSignalled && !source.isValid)
      loop.add(source)
      #expect(!loop.contains(source, in: .default))
      #expect(loop.run() == .finished)
    }
  }

  // MARK: Schedule and cancel

  @Test func `are told of each mode they join and leave, once`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      let timeline = Timeline(of: loop)
      @Sendable func name(_ mode: Loop.Mode) -> String { mode == .default ? "default" : mode.name }
      let source = Loop.Source(
        schedule: { _, own, mode in
          #expect(own === loop)
          timeline.mark("+\(name(mode))")
        },
        cancel: { _, own, mode in
          #expect(own === loop)
          timeline.mark("-\(name(mode))")
        }
      ) { _ in }
      func expect(_ text: String) {
        #expect(timeline.text == text)
        timeline.clear()
      }
      loop.add(source, to: .common)
      expect("+default +first")
      loop.add(source, to: .common)
      loop.add(source, to: .first)
      expect("")
      loop.addCommonMode(.second)
      expect("+second")
      loop.remove(source, from: .default)
      expect("-default")
      #expect(loop.contains(source, in: .common))
      loop.add(source, to: .common)
      expect("+default")
      loop.remove(source, from: .common)
      expect("-default -first -second")
      loop.remove(source, from: .default)
      expect("")
      loop.add(source, to: .first)
      source.invalidate()
      expect("+first -first")
    }
  }

  @Test func `are told after the change, so that they may undo it`() {
    withVirtualLoop { loop, _ in
      let seen = Shared<[Bool]>([])
      let source = Loop.Source(
        schedule: { source, loop, mode in
          seen.value.append(loop.contains(source, in: mode))
          loop.remove(source, from: mode)
        },
        cancel: { source, loop, mode in seen.value.append(loop.contains(source, in: mode)) }
      ) { _ in }
      loop.add(source)
      #expect(seen.value == [true, false])
      #expect(loop.run() == .finished)
    }
  }

  /// A removal that comes between one common mode and the next is no less one.
  @Test func `that leave the common modes as they join the first join no other`() {
    withVirtualLoop(commonModes: [.default, .first, .second]) { loop, _ in
      let joined = Shared(0)
      let source = Loop.Source(
        schedule: { source, loop, _ in
          joined.value += 1
          loop.remove(source, from: .common)
        }
      ) { _ in }
      loop.add(source, to: .common)
      #expect(joined.value == 1)
      for mode in [Loop.Mode.default, .first, .second, .common] {
        #expect(!loop.contains(source, in: mode))
        #expect(loop.run(in: mode) == .finished)
      }
      loop.add(source, to: .first)
      #expect(loop.contains(source, in: .first))
    }
  }

  @Test func `are told on the loop's thread, whoever adds and removes`() {
    withVirtualLoop { loop, time in
      let told = Shared<[Bool]>([])
      let source = Loop.Source(
        schedule: { _, loop, _ in told.value.append(loop.isCurrent) },
        cancel: { _, loop, _ in told.value.append(loop.isCurrent) }
      ) { _ in }
      loop.keepAlive()
      time.after(.milliseconds(1)) { loop.add(source) }
      time.after(.milliseconds(2)) { loop.remove(source, from: .default) }
      time.after(.milliseconds(3)) { loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(told.value == [true, true])
    }
  }

  @Test func `are cancelled when their loop's thread ends, and stay valid`() {
    let cancelled = Shared(0)
    let source = Loop.Source(
      cancel: { _, loop, _ in cancelled.value += loop.isCurrent ? 1 : 100 }
    ) { _ in }
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      loop.add(source, to: .common)
    }
    #expect(cancelled.value == 2)
    #expect(source.isValid)
  }

  // MARK: Several loops

  @Test func `in two loops are performed by the one that gets there first`() {
    let performed = Shared<[ObjectIdentifier]>([])
    let source = Loop.Source { _ in performed.value.append(ObjectIdentifier(Loop.current)) }
    withVirtualLoop { one, _ in
      one.add(source)
      withVirtualLoop { two, _ in
        two.add(source)
        source.signal()
        #expect(two.run(in: .default, for: .zero) == .timedOut)
        #expect(performed.value == [ObjectIdentifier(two)])
        _ = two.run(in: .default, for: .zero)
      }
      _ = one.run(in: .default, for: .zero)
      #expect(performed.value.count == 1)
      source.signal()
      _ = one.run(in: .default, for: .zero)
      #expect(performed.value.last == ObjectIdentifier(one))
    }
  }

  // MARK: Memory

  @Test func `free what they hold when they are invalidated`() {
    withVirtualLoop { loop, _ in
      var payload: Shared<Int>? = Shared(0)
      let watched = Watched(payload)
      let source = Loop.Source { [payload] _ in _ = payload }
      payload = nil
      loop.add(source, to: .common)
      source.signal()
      #expect(watched.isAlive)
      source.invalidate()
      #expect(!watched.isAlive)
    }
  }

  @Test func `that are dropped with a signal waiting may signal another from their deinit`() {
    final class Last: Sendable {
      let next: Loop.Source
      init(_ next: Loop.Source) { self.next = next }
      deinit { next.signal() }
    }
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let next = Loop.Source { _ in timeline.mark("next") }
      loop.add(next)
      for _ in 0..<20 {
        let last = Last(next)
        let source = Loop.Source { _ in _ = last }
        loop.add(source)
        source.signal()
        loop.remove(source, from: .default)
      }
      _ = loop.run(in: .default, for: .zero)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "next")
    }
  }
}
