// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lull
import Testing

/// A loop whose blocks, or sources, ask for the next one for ever: it skips the kernel, and must
/// overlook nothing for that.
@Suite struct `A loop that hops within itself` {
  enum Way: CaseIterable, Sendable { case block, source }

  /// Hops until `isOver`.
  private func hop(_ way: Way, on loop: Loop, _ isOver: @escaping @Sendable () -> Bool) {
    switch way {
    case .block: hopByBlocks(loop, isOver)
    case .source:
      let source = Loop.Source { source in
        if isOver() { source.invalidate() } else { source.signal() }
      }
      loop.add(source)
      source.signal()
    }
  }

  private func hopByBlocks(_ loop: Loop, _ isOver: @escaping @Sendable () -> Bool) {
    loop.perform { if !isOver() { hopByBlocks(loop, isOver) } }
  }

  @Test(arguments: Way.allCases)
  func `serves a descriptor within its bound`(way: Way) {
    onLoopThread { loop in
      let pipe = Pipe()
      let hops = Shared(0)
      let served = Shared(-1)
      let source = Loop.DescriptorSource(pipe.reader, for: .readable) { source, _ in
        served.value = hops.value
        source.invalidate()
      }
      try! loop.add(source)
      pipe.write(1)
      hop(way, on: loop) {
        hops.value += 1
        return served.value >= 0 || hops.value > 100_000
      }
      #expect(loop.run() == .finished)
      // Of 61 passes and the whole one after, each with three steps at most.
      #expect((0...3 * 62).contains(served.value))
    }
  }

  @Test(arguments: Way.allCases)
  func `fires its timers and keeps to its limit`(way: Way) {
    onLoopThread { loop in
      let fired = Shared(0)
      let timer = loop.schedule(every: .milliseconds(2)) { _ in fired.value += 1 }
      hop(way, on: loop) { fired.value == 5 }
      loop.schedule(after: .seconds(600)) { _ in Issue.record("it has gone on for ever") }
      let limit = loop.now.advanced(by: .milliseconds(40))
      while fired.value < 5 { #expect(loop.run(in: .default, until: limit) == .timedOut) }
      timer.invalidate()
      hop(way, on: loop) { loop.now > limit.advanced(by: .seconds(60)) }
      let start = loop.now
      #expect(loop.run(in: .default, for: .milliseconds(20)) == .timedOut)
      #expect(start.duration(to: loop.now) >= .milliseconds(20))
    }
  }

  @Test(arguments: Way.allCases)
  func `hears a post and a stop from another thread`(way: Way) {
    let posted = DispatchSemaphore(value: 0)
    let runner = LoopRunner()
    runner.onLoop { hop(way, on: runner.loop) { false } }
    for _ in 0..<100 {
      runner.loop.perform { posted.signal() }
      #expect(posted.wait(timeout: .now() + .seconds(60)) == .success)
    }
    runner.stop()
  }

  @Test(arguments: Way.allCases)
  func `stops where it is told to, and not hops later`(way: Way) {
    onLoopThread { loop in
      let hops = Shared(0)
      hop(way, on: loop) {
        hops.value += 1
        if hops.value == 10 { loop.stop() }
        return hops.value > 1_000
      }
      #expect(loop.run() == .stopped)
      #expect(hops.value == 10)
    }
  }

  /// Something for the pass to look after ends the hops in its midst, and changes no order.
  @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(600)], [false, true])
  func `keeps the order of a pass`(delay: Duration, isWatched: Bool) {
    onLoopThread { loop in
      let log = Shared<[String]>([])
      if isWatched { loop.observe(.entry) { _, _ in } }
      let source = Loop.Source { _ in log.value.append("source") }
      loop.add(source)
      for _ in 0..<3 {
        log.value = []
        let timer = Loop.Timer(after: delay) { _ in log.value.append("timer") }
        loop.perform {
          loop.add(timer)
          timer.nextFire = loop.now.advanced(by: delay)
          source.signal()
          loop.perform {
            log.value.append("block")
            loop.perform { loop.stop() }
          }
        }
        #expect(loop.run() == .stopped)
        #expect(log.value.filter { $0 != "timer" } == ["source", "block"])
        timer.invalidate()
      }
      for _ in 0..<3 {
        log.value = []
        loop.perform {
          loop.schedule(after: .zero) { _ in log.value.append("timer") }
          loop.perform {
            log.value.append("block")
            loop.stop()
          }
        }
        #expect(loop.run() == .stopped)
        #expect(log.value == ["timer", "block"])
      }
    }
  }

  @Test(arguments: Way.allCases)
  func `calls the observers that come on the way`(way: Way) {
    onLoopThread { loop in
      let hops = Shared(0)
      let seen = Shared(0)
      hop(way, on: loop) {
        hops.value += 1
        if hops.value == 10 { loop.observe(.beforeTimers) { _, _ in seen.value += 1 } }
        return hops.value > 100
      }
      #expect(loop.run() == .finished)
      #expect(seen.value >= 30)
    }
  }
}
