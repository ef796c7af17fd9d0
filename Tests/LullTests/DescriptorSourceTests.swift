// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Descriptor sources` {
  @Test func `wake the loop when their descriptor turns ready`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { source, ready in
        timeline.mark("\(ready)")
        #expect(source.descriptor == descriptor.number)
        source.invalidate()
      }
      time.after(.milliseconds(3)) { descriptor.become([.readable, .writable]) }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +3 wake [readable]")
    }
  }

  // CFRunLoop reads eight bytes and reports once: the rest was never seen.
  @Test func `are called until nothing is left, whatever they take each time`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let left = Shared(40)
      try loop.watch(descriptor.number, for: .readable) { source, _ in
        left.value -= 8
        timeline.mark("\(left.value)")
        if left.value == 0 {
          descriptor.become([])
          loop.stop()
        }
      }
      time.after(.milliseconds(1)) { descriptor.become(.readable) }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "sleep +1 wake 32 24 16 8 0")
    }
  }

  @Test func `of one descriptor all hear of it, each of what it asked for`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let interests: [Loop.Readiness] = [.readable, .writable, [.readable, .writable], .readable]
      let sources = try interests.enumerated().map { index, interest in
        try loop.watch(descriptor.number, for: interest) { _, ready in
          timeline.mark("\(index)\(ready)")
        }
      }
      descriptor.become([.readable, .writable])
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "0[readable] 1[writable] 2[readable, writable] 3[readable]")
      timeline.clear()
      sources[0].invalidate()
      descriptor.become(.writable)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "1[writable] 2[writable]")
    }
  }

  @Test func `hear of a hang-up and of errors whatever they asked for`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let source = try loop.watch(descriptor.number, for: .writable) { source, ready in
        timeline.mark("\(ready)")
        source.interest = []
      }
      descriptor.become([.readable, .hangUp, .error])
      #expect(loop.run(in: .default, for: .milliseconds(2)) == .timedOut)
      // Without interest it is left alone, even by a hang-up that cannot be masked.
      #expect(timeline.text == "[hangUp, error] sleep +2 wake")
      #expect(time.waits <= 3)
      source.invalidate()
    }
  }

  // gnustep/libs-base#730: an event that nobody takes kept the loop polling.
  @Test func `can be switched off and on`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let source = try loop.watch(descriptor.number, for: .readable) { source, _ in
        timeline.mark("called")
        source.interest = []
      }
      descriptor.become(.readable)
      time.after(.milliseconds(5)) { source.interest = .readable }
      loop.schedule(after: .milliseconds(7)) { _ in source.interest = [.readable] }
      #expect(loop.run(in: .default, for: .milliseconds(10)) == .timedOut)
      #expect(timeline.text == "called sleep +5 wake called sleep +2 wake called sleep +3 wake")
    }
  }

  @Test func `changed by another callout of the pass hear of what they want now`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let (first, second) = (time.makeDescriptor(), time.makeDescriptor())
      let other = Loop.DescriptorSource(second.number, for: .readable) { _, ready in
        timeline.mark("\(ready)")
      }
      try loop.watch(first.number, for: .readable) { source, _ in
        timeline.mark("first")
        other.interest = .writable
        first.become([])
      }
      try loop.add(other)
      first.become(.readable)
      second.become([.readable])
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "first")
    }
  }

  @Test func `that an earlier callout removed or invalidated are not called`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptors = (0..<4).map { _ in time.makeDescriptor() }
      let others = descriptors.dropFirst().map { descriptor in
        Loop.DescriptorSource(descriptor.number, for: .readable) { _, _ in
          timeline.mark("\(descriptor.number - descriptors[0].number)")
        }
      }
      try loop.watch(descriptors[0].number, for: .readable) { _, _ in
        timeline.mark("first")
        loop.remove(others[0], from: .default)
        others[1].invalidate()
      }
      for source in others { try loop.add(source) }
      for descriptor in descriptors { descriptor.become(.readable) }
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "first 3")
    }
  }

  // A number is used again by the next descriptor that is opened.
  @Test func `do not hear of what their descriptor's last owner was ready for`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let (first, second) = (time.makeDescriptor(), time.makeDescriptor())
      let old = Loop.DescriptorSource(second.number, for: .readable) { _, _ in
        timeline.mark("old")
      }
      try loop.watch(first.number, for: .readable) { _, _ in
        timeline.mark("first")
        old.invalidate()
        second.become([])
        first.become([])
        _ = try? loop.watch(second.number, for: .readable) { _, _ in timeline.mark("new") }
      }
      try loop.add(old)
      first.become(.readable)
      second.become(.readable)
      _ = loop.run(in: .default, for: .milliseconds(1))
      #expect(timeline.text == "first sleep +1 wake")
    }
  }

  // MARK: Order in a pass

  @Test func `give way to a timer that comes due between two callouts`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      for index in 0..<3 {
        let descriptor = time.makeDescriptor()
        try loop.watch(descriptor.number, for: .readable) { source, _ in
          timeline.mark("d\(index)")
          time.advance(by: .milliseconds(2))
          source.invalidate()
        }
        descriptor.become(.readable)
      }
      loop.schedule(at: at(1)) { _ in timeline.mark("tick") }
      loop.schedule(at: at(4)) { _ in timeline.mark("tock") }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "d0 +2 tick d1 +2 tock d2")
    }
  }

  @Test func `are served one a run when it returns after each, and none is lost`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      for index in 0..<3 {
        let descriptor = time.makeDescriptor()
        try loop.watch(descriptor.number, for: .readable) { source, _ in
          timeline.mark("\(index)")
          source.invalidate()
        }
        descriptor.become(.readable)
      }
      for _ in 0..<3 {
        let result = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
        #expect(result == .handledSource)
        timeline.mark("|")
      }
      #expect(timeline.text == "0 | 1 | 2 |")
    }
  }

  @Test func `run nested runs that serve the rest, each once`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptors = (0..<3).map { _ in time.makeDescriptor() }
      for (index, descriptor) in descriptors.enumerated() {
        try loop.watch(descriptor.number, for: .readable) { source, _ in
          timeline.mark("\(index)")
          descriptor.become([])
          if index == 0 {
            _ = loop.run(in: .default, for: .milliseconds(1))
            timeline.mark("end")
          }
        }
        descriptor.become(.readable)
      }
      #expect(loop.run(in: .default, for: .milliseconds(2)) == .timedOut)
      #expect(timeline.text == "0 1 2 sleep +1 wake end sleep +1 wake")
    }
  }

  @Test func `may come again in a nested run before they have read`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let depth = Shared(0)
      try loop.watch(descriptor.number, for: .readable) { source, _ in
        depth.value += 1
        timeline.mark("in")
        if depth.value < 3 {
          _ = loop.run(in: .default, for: .zero)
        } else {
          descriptor.become([])
        }
        timeline.mark("out")
      }
      descriptor.become(.readable)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "in in in out out out")
    }
  }

  // MARK: Modes

  @Test func `wait in the kernel while no mode of theirs runs, and do not keep the loop awake`()
    throws
  {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { source, _ in
        timeline.mark("descriptor")
        source.invalidate()
      }
      descriptor.become([.readable, .hangUp])
      loop.keepAlive(in: .first)
      #expect(loop.run(in: .first, for: .milliseconds(10)) == .timedOut)
      #expect(timeline.text == "sleep +10 wake")
      #expect(time.waits <= 3)
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +10 wake descriptor")
    }
  }

  @Test func `are heard in each of their modes, by turns`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      for mode in [Loop.Mode.first, .second] {
        try loop.watch(descriptor.number, for: .readable, in: mode) { _, _ in
          timeline.mark(mode.name)
          loop.stop()
        }
      }
      loop.keepAlive()
      descriptor.become(.readable)
      for mode in [Loop.Mode.first, .default, .second, .default, .first, .second] {
        _ = loop.run(in: mode, for: .milliseconds(1))
      }
      #expect(timeline.text == "first sleep +1 wake second sleep +1 wake first second")
    }
  }

  @Test func `are heard again after a nested run of a mode without them`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { _, _ in
        timeline.mark("descriptor")
        loop.stop()
      }
      loop.keepAlive(in: .first)
      loop.schedule(after: .milliseconds(1)) { _ in
        descriptor.become(.readable)
        _ = loop.run(in: .first, for: .milliseconds(2))
        timeline.mark("end")
      }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "sleep +1 wake sleep +2 wake end descriptor")
    }
  }

  @Test func `that join a mode while it runs are heard at once`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let source = try loop.watch(descriptor.number, for: .readable) { source, _ in
        timeline.mark("descriptor")
        source.invalidate()
      }
      descriptor.become(.readable)
      loop.keepAlive(in: .first)
      time.after(.milliseconds(3)) { try? loop.add(source, to: .first) }
      #expect(loop.run(in: .first, for: .milliseconds(5)) == .timedOut)
      #expect(timeline.text == "sleep +3 wake descriptor sleep +2 wake")
    }
  }

  // MARK: Adding

  @Test func `of a descriptor that cannot be watched are not added`() {
    withVirtualLoop { loop, _ in
      let source = Loop.DescriptorSource(12_345, for: .readable) { _, _ in }
      #expect(throws: Loop.DescriptorError.notOpen(12_345)) { try loop.add(source) }
      #expect(throws: Loop.DescriptorError.notOpen(12_345)) { try loop.add(source, to: .common) }
      #expect(source.isValid && !loop.contains(source, in: .default))
      #expect(loop.run() == .finished)
      // No loop has it, so another may try.
      withVirtualLoop { other, _ in
        _ = #expect(throws: Loop.DescriptorError.notOpen(12_345)) { try other.add(source) }
      }
    }
  }

  @Test func `added twice are called once`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      let source = try loop.watch(descriptor.number, for: .readable) { _, _ in
        timeline.mark("called")
      }
      try loop.add(source)
      try loop.add(source, to: .common)
      descriptor.become(.readable)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "called")
    }
  }

  @Test func `free what they hold when they are invalidated`() throws {
    try withVirtualLoop { loop, time in
      let descriptor = time.makeDescriptor()
      var payload: Shared<Int>? = Shared(0)
      let watched = Watched(payload)
      let source = try loop.watch(descriptor.number, for: .readable) { [payload] _, _ in
        _ = payload
      }
      payload = nil
      #expect(watched.isAlive)
      source.invalidate()
      #expect(!watched.isAlive)
    }
  }

  @Test func `that stay ready do not starve blocks, sources or stops`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable) { _, _ in
        time.advance(by: .milliseconds(1))
      }
      descriptor.become(.readable)
      let source = Loop.Source { _ in timeline.mark("source") }
      loop.add(source)
      time.after(milliseconds(2.5)) { loop.perform { timeline.mark("block") } }
      time.after(milliseconds(4.5)) { source.signal() }
      time.after(milliseconds(6.5)) { loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "+1 +1 +1 block +1 +1 source +1")
      #expect(time.now == at(7))
    }
  }
}
