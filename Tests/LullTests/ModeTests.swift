// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `Modes` {
  @Test func `have CFRunLoop's names`() {
    #expect(Loop.Mode.default.name == "kCFRunLoopDefaultMode")
    #expect(Loop.Mode.common.name == "kCFRunLoopCommonModes")
    #expect(Loop.Mode.eventTracking.name == "NSEventTrackingRunLoopMode")
    #expect(Loop.Mode.modalPanel.name == "NSModalPanelRunLoopMode")
    #expect(Loop.Mode.connectionReply.name == "NSConnectionReplyMode")
  }

  // swift-corelibs-foundation#1439: equal strings were different modes.
  @Test func `are equal by name, however the name was made`() {
    let name = ["kCF", "RunLoop", "CommonModes"].joined()
    #expect(Loop.Mode(name) == .common)
    withVirtualLoop { loop, time in
      let timer = loop.schedule(after: .milliseconds(1), in: Loop.Mode(name)) { _ in }
      #expect(loop.contains(timer, in: .default) && loop.contains(timer, in: .common))
      #expect(loop.run(in: Loop.Mode(["kCF", "RunLoop", "DefaultMode"].joined())) == .finished)
      #expect(time.now == at(1))
    }
  }

  @Test func `come into being by an item or a block, not by a run or by becoming common`() {
    withVirtualLoop { loop, _ in
      let modes = (0..<6).map { Loop.Mode("mode \($0)") }
      #expect(loop.modes == [.default])
      _ = loop.run(in: modes[0])
      loop.addCommonMode(modes[1])
      #expect(loop.modes == [.default])
      loop.keepAlive(in: modes[2])
      loop.observe(.all, in: modes[3]) { _, _ in }
      loop.perform(in: modes[4]) {}
      loop.perform(in: .common) {}
      #expect(loop.modes == [.default, modes[2], modes[3], modes[4], .common])
      let timer = loop.keepAlive(in: modes[5])
      loop.remove(timer, from: modes[5])
      #expect(loop.modes.contains(modes[5]))
    }
  }

  // MARK: What a mode shields from

  // The classic report: a timer stops while the user scrolls (Hammerspoon/hammerspoon#1598,
  // SVProgressHUD/SVProgressHUD#95). It catches up by one firing and keeps its grid.
  @Test func `of tracking keep a timer of default silent, which fires once on return`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let timer = loop.schedule(every: .milliseconds(20)) { _ in timeline.mark("tick") }
      loop.keepAlive(in: .eventTracking)
      loop.schedule(after: .milliseconds(50)) { _ in
        _ = loop.run(in: .eventTracking, for: .milliseconds(100))
        timeline.mark("tracked")
      }
      loop.schedule(after: .milliseconds(190)) { _ in timer.invalidate() }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +20 wake tick sleep +20 wake tick sleep +10 wake sleep +100 wake tracked tick "
          + "sleep +10 wake tick sleep +20 wake tick sleep +10 wake")
    }
  }

  @Test func `of tracking do not keep a common timer silent`() {
    withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, _ in
      let timeline = Timeline(of: loop)
      let timer = loop.schedule(every: .milliseconds(20), in: .common) { _ in
        timeline.mark("tick")
      }
      loop.schedule(after: .milliseconds(30)) { _ in
        _ = loop.run(in: .eventTracking, for: .milliseconds(40))
        timeline.mark("tracked")
        timer.invalidate()
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +20 wake tick sleep +10 wake sleep +10 wake tick sleep +20 wake tick "
          + "sleep +10 wake tracked")
    }
  }

  @Test func `that are custom shield urgent work from everything else`() throws {
    try withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, time in
      let timeline = Timeline(of: loop)
      let urgent = Loop.Mode("urgent")
      let descriptor = time.makeDescriptor()
      try loop.watch(descriptor.number, for: .readable, in: .common) { source, _ in
        timeline.mark("descriptor")
        source.invalidate()
      }
      descriptor.become(.readable)
      let source = Loop.Source { source in
        timeline.mark("source")
        source.invalidate()
      }
      loop.add(source, to: .common)
      source.signal()
      loop.schedule(after: .zero, in: .common) { _ in timeline.mark("tick") }
      loop.perform(in: .common) { timeline.mark("block") }
      loop.observe(.all, in: .common) { _, activity in timeline.mark("\(activity)") }
      loop.idle.enqueue(1, key: "idle") { _, _ in
        timeline.mark("piece")
        return .continue
      }
      loop.schedule(after: .milliseconds(5), in: urgent) { _ in timeline.mark("urgent") }
      #expect(loop.run(in: urgent) == .finished)
      #expect(timeline.text == "sleep +5 wake urgent")

      timeline.clear()
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "entry beforeTimers beforeSources block source tick descriptor "
          + "beforeTimers beforeSources beforeWaiting piece afterWaiting exit")
    }
  }

  // rust-windowing/winit#3767
  @Test func `keep their observers from nested runs of other modes`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .milliseconds(1)) { _ in
        loop.observe(.all) { _, activity in timeline.mark("\(activity)") }
        loop.schedule(after: .milliseconds(1), in: .first) { _ in timeline.mark("nested") }
        _ = loop.run(in: .first)
      }
      #expect(loop.run() == .finished)
      #expect(timeline.text == "sleep +1 wake sleep +1 wake nested exit")
    }
  }

  // swift-corelibs-foundation#5539: more than sixteen modes crashed.
  @Test func `may be a thousand`() {
    withVirtualLoop { loop, time in
      let modes = (0..<1000).map { Loop.Mode("one of many \($0)") }
      let fired = Shared<[Int]>([])
      let everywhere = Loop.Timer(after: .seconds(10)) { _ in fired.value.append(-1) }
      for (index, mode) in modes.enumerated() {
        loop.schedule(after: .milliseconds(1), in: mode) { _ in fired.value.append(index) }
        loop.add(everywhere, to: mode)
      }
      #expect(loop.modes.count == 1001)
      for mode in modes.dropLast() {
        #expect(loop.run(in: mode, for: .milliseconds(1)) == .timedOut)
      }
      #expect(fired.value == Array(0..<999))
      #expect(loop.run(in: modes[999]) == .finished)
      #expect(fired.value == Array(0..<1000) + [-1])
      #expect(modes.allSatisfy { !loop.contains(everywhere, in: $0) })
      #expect(time.now == at(10_000))
    }
  }
}

@Suite struct `Common modes` {
  @Test func `are default alone at first`() {
    withVirtualLoop { loop, _ in
      let timer = loop.keepAlive(in: .common)
      #expect(loop.contains(timer, in: .default) && loop.contains(timer, in: .common))
      #expect(!loop.contains(timer, in: .eventTracking) && !loop.contains(timer, in: .modalPanel))
    }
  }

  // swift-corelibs-foundation#1439
  @Test func `have what was added before and after they became common`() throws {
    try withVirtualLoop { loop, time in
      let descriptor = time.makeDescriptor()
      func makeItems() throws -> [Loop.Item] {
        let source = Loop.Source { _ in }
        loop.add(source, to: .common)
        let timer = loop.keepAlive(in: .common)
        let observer = loop.observe(.all, in: .common) { _, _ in }
        let watch = try loop.watch(descriptor.number, for: .readable, in: .common) { _, _ in }
        return [source, timer, observer, watch]
      }
      let before = try makeItems()
      #expect(before.allSatisfy { !loop.contains($0, in: .first) })
      loop.addCommonMode(.first)
      let after = try makeItems()
      for item in before + after {
        #expect(loop.contains(item, in: .first) && loop.contains(item, in: .default))
      }
    }
  }

  @Test func `do not get what leaves them while they are made, in a schedule handler`() throws {
    try withVirtualLoop { loop, time in
      let descriptor = time.makeDescriptor()
      let items = Shared<[Loop.Item]>([])
      let first = Loop.Source(schedule: { _, loop, mode in
        guard mode == .first else { return }
        for item in items.value { loop.remove(item, from: .common) }
      }) { _ in }
      loop.add(first, to: .common)
      let source = Loop.Source { _ in }
      loop.add(source, to: .common)
      let watch = try loop.watch(descriptor.number, for: .readable, in: .common) { _, _ in }
      items.value = [
        source, watch, loop.keepAlive(in: .common), loop.observe(.all, in: .common) { _, _ in },
      ]
      // Still an item of the loop after that, and no more a common one.
      let stays = loop.keepAlive(in: .common)
      loop.add(stays, to: .second)
      items.value.append(stays)
      loop.addCommonMode(.first)
      for item in items.value {
        #expect([.default, .first, .common].allSatisfy { !loop.contains(item, in: $0) })
      }
      #expect(loop.contains(first, in: .first) && loop.contains(stays, in: .second))
      loop.remove(first, from: .common)
      #expect(loop.run(in: .first) == .finished)
    }
  }

  @Test func `let an item go from one of them, or from all`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      let timer = loop.keepAlive(in: .common)
      loop.remove(timer, from: .default)
      #expect(!loop.contains(timer, in: .default))
      #expect(loop.contains(timer, in: .first) && loop.contains(timer, in: .common))
      // It is a common item still: what becomes common next gets it.
      loop.addCommonMode(.second)
      #expect(loop.contains(timer, in: .second))
      loop.add(timer, to: .common)
      #expect(loop.contains(timer, in: .default))

      loop.remove(timer, from: .common)
      #expect([.default, .first, .second, .common].allSatisfy { !loop.contains(timer, in: $0) })
      #expect(timer.isValid)
      loop.add(timer, to: .first)
      #expect(loop.contains(timer, in: .first))
    }
  }

  @Test func `do not take back an item that is in a mode by itself`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      let timer = loop.keepAlive(in: .first)
      loop.remove(timer, from: .common)
      #expect(loop.contains(timer, in: .first))
    }
  }

  @Test func `serve a timer in whichever of them runs`() {
    withVirtualLoop(commonModes: [.default, .first]) { loop, _ in
      let timeline = Timeline(of: loop)
      loop.schedule(every: .milliseconds(10), in: .common) { _ in
        timeline.mark("\(loop.currentMode!.name == "first" ? "first" : "default")")
      }
      _ = loop.run(in: .default, for: .milliseconds(25))
      _ = loop.run(in: .first, for: .milliseconds(25))
      #expect(
        timeline.text
          == "sleep +10 wake default sleep +10 wake default sleep +5 wake sleep +5 wake first "
          + "sleep +10 wake first sleep +10 wake first")
    }
  }

  @Test func `of another thread's making reach a loop that sleeps`() {
    withVirtualLoop { loop, time in
      let timer = loop.keepAlive(in: .common)
      time.after(.milliseconds(1)) { loop.addCommonMode(.first) }
      time.after(.milliseconds(2)) { loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(loop.contains(timer, in: .first))
    }
  }

  // swift-corelibs-xctest#531: what waited in default mode kept work of other modes from coming.
  @Test func `let one wait in a mode of its own, common like the rest`() {
    withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, time in
      let waiting = Loop.Mode("waiting")
      loop.addCommonMode(waiting)
      let fulfilled = Loop.Source { _ in }
      loop.add(fulfilled, to: waiting)
      loop.perform(in: .common) {
        loop.schedule(after: .milliseconds(2), in: .common) { _ in fulfilled.signal() }
      }
      // Default has nothing of its own to say here.
      loop.schedule(after: .milliseconds(1)) { _ in Issue.record("not of this mode") }
      let result = loop.run(in: waiting, for: .seconds(9), returnAfterSourceHandled: true)
      #expect(result == .handledSource)
      #expect(time.now == at(2))
    }
  }
}
