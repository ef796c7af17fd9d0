// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `A run` {
  // MARK: Results

  @Test func `of a mode that has nothing is finished, and nobody is told`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.drawActivities(timeline)
      loop.drawActivities(in: .first, timeline)
      #expect(loop.run() == .finished)
      #expect(loop.run(in: .default, for: .seconds(1)) == .finished)
      #expect(loop.run(in: .first, for: .seconds(1)) == .finished)
      #expect(loop.run(in: .second, for: .seconds(1)) == .finished)
      #expect(timeline.text == "")
      #expect(time.now == at(0))
    }
  }

  @Test func `of the common pseudo-mode is finished`() {
    withVirtualLoop { loop, _ in
      loop.keepAlive(in: .common)
      #expect(loop.run(in: .common, for: .seconds(1)) == .finished)
    }
  }

  @Test func `has timed out at its limit, not before and not after`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      #expect(loop.run(in: .default, for: .milliseconds(300)) == .timedOut)
      #expect(time.now == at(300))
      #expect(loop.run(in: .default, until: at(350)) == .timedOut)
      #expect(time.now == at(350))
      #expect(time.waits == 2)
    }
  }

  @Test func `leaves no mode behind, however many came before`() {
    withVirtualLoop { loop, _ in
      loop.keepAlive()
      for _ in 1...3 {
        _ = loop.run(in: .default, for: .milliseconds(1))
        #expect(loop.currentMode == nil)
      }
    }
  }

  @Test(arguments: [Duration.seconds(504_911_233), .seconds(Int64.max)])
  func `with a limit beyond all time has none`(limit: Duration) {
    withVirtualLoop { loop, time in
      loop.schedule(after: .seconds(600_000_000)) { _ in }
      _ = loop.run(in: .default, for: .seconds(504_911_233))
      #expect(time.now <= at(600_000_000_000))
    }
  }

  /// What counts as a source being handled: not timers, blocks, observers or bare wake-ups.
  @Test func `that returns after a source does not return after anything else`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.schedule(every: .milliseconds(2)) { _ in timeline.mark("tick") }
      loop.perform { timeline.mark("block") }
      loop.observe(.beforeTimers) { _, _ in }
      time.after(.milliseconds(3)) { loop.wakeUp() }
      let result = loop.run(in: .default, for: .milliseconds(5), returnAfterSourceHandled: true)
      #expect(result == .timedOut)
      #expect(
        timeline.text == "block sleep +2 wake tick sleep +1 wake sleep +1 wake tick sleep +1 wake")
    }
  }

  @Test func `that returns after a source does so at the end of its pass`() {
    withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.schedule(after: .zero) { _ in timeline.mark("tick") }
      let source = Loop.Source { _ in
        timeline.mark("source")
        loop.perform { timeline.mark("block") }
      }
      loop.add(source)
      source.signal()
      let result = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
      #expect(result == .handledSource)
      #expect(timeline.text == "source block tick")
    }
  }

  struct Verdict: CustomTestStringConvertible, Sendable {
    let name: String
    var returns = false
    var stops = false
    var expires = false
    var empties = false
    let result: Loop.RunResult
    var testDescription: String { name }
  }

  @Test(arguments: [
    Verdict(
      name: "handled before all", returns: true, stops: true, expires: true, empties: true,
      result: .handledSource),
    Verdict(
      name: "timed out before stopped", stops: true, expires: true, empties: true,
      result: .timedOut),
    Verdict(name: "stopped before finished", stops: true, empties: true, result: .stopped),
    Verdict(name: "finished", empties: true, result: .finished),
  ])
  func `reports the first of several reasons`(verdict: Verdict) {
    withVirtualLoop { loop, time in
      let source = Loop.Source { source in
        if verdict.stops { loop.stop() }
        if verdict.expires { time.advance(by: .milliseconds(10)) }
        if verdict.empties { source.invalidate() }
      }
      loop.add(source)
      source.signal()
      let result = loop.run(
        in: .default, for: .milliseconds(5), returnAfterSourceHandled: verdict.returns)
      #expect(result == verdict.result)
    }
  }

  // MARK: Emptiness

  @Test func `does not live on observers`() {
    withVirtualLoop { loop, _ in
      loop.observe(.all) { _, _ in }
      #expect(loop.run() == .finished)
    }
  }

  @Test func `ends after its last block`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      loop.perform { timeline.mark("block") }
      #expect(loop.run(in: .default, for: .seconds(1)) == .finished)
      #expect(timeline.text == "block")
      #expect(time.now == at(0))
    }
  }

  @Test func `ends with the pass in which a callout takes the last item`() {
    withVirtualLoop { loop, time in
      let timer = loop.keepAlive()
      loop.schedule(after: .milliseconds(2)) { _ in loop.remove(timer, from: .default) }
      #expect(loop.run() == .finished)
      #expect(time.now == at(2))
    }
  }

  enum Way: CaseIterable { case remove, invalidate }

  // S19: such a run never ended.
  @Test(arguments: Way.allCases)
  func `ends when another thread takes the last item`(way: Way) throws {
    try withVirtualLoop { loop, time in
      let descriptor = time.makeDescriptor()
      let items: [Loop.Item] = [
        Loop.Timer(after: .seconds(60)) { _ in }, Loop.Source { _ in },
        Loop.DescriptorSource(descriptor.number, for: .readable) { _, _ in },
      ]
      for (index, item) in items.enumerated() {
        switch item {
        case let timer as Loop.Timer: loop.add(timer)
        case let source as Loop.DescriptorSource: try loop.add(source)
        default: loop.add(item as! Loop.Source)
        }
        time.after(.milliseconds(3)) {
          switch way {
          case .remove: loop.remove(item, from: .default)
          case .invalidate: item.invalidate()
          }
        }
        #expect(loop.run() == .finished)
        #expect(time.now == at(3 * Double(index + 1)))
        #expect(!loop.contains(item, in: .default))
      }
    }
  }

  // screenpipe/screenpipe#6302: whoever runs an empty mode in a loop burns a core, so the result
  // says which it was.
  @Test func `tells an empty mode from one whose time is up`() {
    withVirtualLoop { loop, time in
      var passes = 0
      while true {
        passes += 1
        guard loop.run(in: .default, for: .milliseconds(1)) != .finished else { break }
      }
      #expect(passes == 1)
      loop.keepAlive()
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .timedOut)
    }
  }

  // MARK: Wake-ups

  @Test func `sleeps through nothing that another thread does`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let source = Loop.Source { _ in timeline.mark("source") }
      loop.add(source)
      time.after(.milliseconds(1)) { loop.perform { timeline.mark("block") } }
      time.after(.milliseconds(2)) { source.signal() }
      time.after(.milliseconds(3)) {
        loop.schedule(after: .milliseconds(1)) { _ in timeline.mark("tick") }
      }
      time.after(.milliseconds(5)) { loop.stop() }
      #expect(loop.run() == .stopped)
      #expect(
        timeline.text
          == "sleep +1 wake block sleep +1 wake source sleep +1 wake sleep +1 wake tick "
          + "sleep +1 wake"
      )
    }
  }

  @Test func `makes one pass of many wake-ups`() {
    withVirtualLoop { loop, time in
      let passes = Shared(0)
      loop.observe(.beforeTimers) { _, _ in passes.value += 1 }
      loop.keepAlive()
      time.after(.milliseconds(3)) { for _ in 0..<1000 { loop.wakeUp() } }
      #expect(loop.run(in: .default, for: .milliseconds(10)) == .timedOut)
      #expect(passes.value == 2)
    }
  }

  @Test func `is not hurried by wake-ups from before it`() {
    withVirtualLoop { loop, time in
      loop.keepAlive()
      loop.wakeUp()
      #expect(loop.run(in: .default, for: .milliseconds(10)) == .timedOut)
      #expect(time.waits == 1)
    }
  }

  @Test func `makes another pass for a wake-up on the way to sleep`() {
    withVirtualLoop { loop, _ in
      let passes = Shared(0)
      loop.observe(.beforeTimers) { _, _ in passes.value += 1 }
      loop.observe(.beforeWaiting, repeats: false) { _, _ in loop.wakeUp() }
      loop.keepAlive()
      #expect(loop.run(in: .default, for: .milliseconds(10)) == .timedOut)
      #expect(passes.value == 2)
    }
  }

  @Test func `is waiting in the wait and nowhere else`() {
    withVirtualLoop { loop, time in
      let seen = Shared<[Bool]>([])
      loop.observe([.beforeWaiting, .afterWaiting]) { _, _ in seen.value.append(loop.isWaiting) }
      loop.schedule(after: .milliseconds(5)) { _ in seen.value.append(loop.isWaiting) }
      time.after(.milliseconds(3)) { seen.value.append(loop.isWaiting) }
      #expect(loop.run() == .finished)
      #expect(seen.value == [false, true, false, false])
      #expect(!loop.isWaiting)
    }
  }

  // MARK: Coarse clocks

  // swift-corelibs-foundation#5485, #5502, #5153
  @Test(arguments: [1, 4])
  func `ends on time by a coarse clock, without spinning`(granularity: Int) {
    withVirtualLoop(clockGranularity: .milliseconds(granularity)) { loop, time in
      loop.keepAlive()
      let ticks = Shared(0)
      loop.schedule(every: .microseconds(7_300)) { _ in ticks.value += 1 }
      #expect(loop.run(in: .default, for: .milliseconds(300)) == .timedOut)
      #expect(time.now >= at(300) && time.now < at(300 + Double(granularity)))
      #expect(ticks.value == 41)
      #expect(time.waits == time.sleeps && time.waits <= 42)
    }
  }
}
