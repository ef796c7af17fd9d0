// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

/// Frames of an interface: each takes 4 ms, and one that starts more than 1 ms late is late.
@Suite struct `Idle work between frames` {
  private static let drawing: Int64 = 4_000_000

  struct Load: Sendable, CustomTestStringConvertible {
    let hertz: Int64
    let pieces: Int
    let cost: Double
    var testDescription: String { "\(pieces) of \(cost) ms at \(hertz) Hz" }
    var period: Int64 { (1_000_000_000 + hertz / 2) / hertz }

    /// When the work would be done if gaps were packed by somebody who knows: at least one a gap.
    var ideal: Int64 {
      let gap = Double(period - drawing)
      let each = max(1, Int(gap / (cost * 1_000_000)))
      return Int64((pieces + each - 1) / each) * period
    }
  }

  /// Draws frames while `work` is at it; returns the delay of each.
  private func delays(
    at hertz: Load, _ loop: Loop, _ time: VirtualTime, until isOver: @escaping @Sendable () -> Bool
  ) -> [Int64] {
    let delays = Shared<[Int64]>([])
    let frames = loop.schedule(every: .nanoseconds(hertz.period), in: .common) { timer in
      delays.value.append(time.now.nanoseconds - timer.nextFire.nanoseconds)
      time.advance(by: .nanoseconds(Self.drawing))
      if isOver() { timer.invalidate() }
    }
    loop.idle.frameClock = FrameClock(following: frames)
    #expect(loop.run() == .finished)
    return delays.value
  }

  // forkingdog/UITableView-FDTemplateLayoutCell#138
  @Test(
    arguments: [
      Load(hertz: 60, pieces: 1000, cost: 0.5), Load(hertz: 60, pieces: 100, cost: 5),
      Load(hertz: 90, pieces: 1000, cost: 0.5), Load(hertz: 90, pieces: 100, cost: 5),
      Load(hertz: 120, pieces: 1000, cost: 0.5),
    ])
  func `makes no frame late once a cost is known, and wastes little`(load: Load) {
    withVirtualLoop { loop, time in
      let finished = Shared<Int64>(0)
      let work = loop.idle.forEach(
        0..<load.pieces, onEnd: { _ in finished.value = time.now.nanoseconds }
      ) { _, _ in
        time.advance(by: milliseconds(load.cost))
        return .continue
      }
      let delays = delays(at: load, loop, time) { finished.value > 0 }
      #expect(delays.allSatisfy { $0 <= 1_000_000 })
      #expect(work.progress.done == load.pieces)
      let began = load.period  // The gap before the first frame is a present.
      #expect(Double(finished.value - began) <= Double(load.ideal) * 1.15)
    }
  }

  /// One piece in ten takes long because others had the processor; what it would have taken is as
  /// it was, and so is what fits in a gap.
  @Test func `expects no more of pieces where one lost the processor`() {
    withVirtualLoop { loop, time in
      let load = Load(hertz: 60, pieces: 200, cost: 3)
      let finished = Shared<Int64>(0)
      loop.idle.forEach(
        0..<load.pieces, onEnd: { _ in finished.value = time.now.nanoseconds }
      ) { index, _ in
        time.advance(by: milliseconds(load.cost))
        if index % 10 == 9 { time.preempt(for: .milliseconds(6)) }
        return .continue
      }
      _ = delays(at: load, loop, time) { finished.value > 0 }
      // Four pieces a gap, and two in place of one that lost it: known by their time, two a gap.
      #expect(finished.value <= load.ideal * 3 / 2)
    }
  }

  /// The same numbers in each run of the test.
  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  enum Mix: CaseIterable { case equalTimes, equalNumbers, equalNumbersOfObjects }

  /// Keys whose pieces take what is theirs, give or take a tenth: as much time of each, or as many
  /// pieces, where those of the long ones would be left over if no short ones were kept for them.
  /// The packing that nobody beats fills every gap to its end.
  @Test(arguments: [60, 90, 120] as [Int64], Mix.allCases)
  func `packs keys of many costs`(hertz: Int64, mix: Mix) {
    for seed in 1...3 as ClosedRange<UInt64> {
      withVirtualLoop { loop, time in
        let load = Load(hertz: hertz, pieces: 0, cost: 0)
        let gap = Double(load.period - Self.drawing) / 1_000_000
        let means = [0.1, 0.3, 0.8, 1.5, 2.5, 4, 6, 10].filter { $0 * 1.1 < gap - 0.3 }
        let random = Shared(Seeded(state: seed))
        let left = Shared(0)
        let finished = Shared<Int64>(0)
        let total = Shared(0.0)
        func run(_ mean: Double) -> IdleAnswer {
          let cost = mean * Double.random(in: 0.9...1.1, using: &random.value)
          total.value += cost
          time.advance(by: milliseconds(cost))
          left.value -= 1
          finished.value = time.now.nanoseconds
          return .continue
        }
        for mean in means {
          let number = mix == .equalTimes ? Int(600 / mean) : 100
          left.value += number
          if mix == .equalNumbersOfObjects {
            for object in 0..<number {
              loop.idle.enqueue(object, key: mean) { mean, _ in run(mean) }
            }
          } else {
            loop.idle.forEach(0..<number, key: mean) { _, _ in run(mean) }
          }
        }
        let delays = delays(at: load, loop, time) { left.value == 0 }
        // A key's first piece is excepted.
        #expect(delays.count { $0 > 1_000_000 } <= means.count)
        #expect(delays.dropFirst(means.count + 1).allSatisfy { $0 <= 1_000_000 })
        let ideal = (total.value / gap).rounded(.up) * Double(load.period)
        let first = load.period * Int64(mix == .equalTimes ? 1 : 1 + means.count)
        #expect(Double(finished.value - first) <= ideal * 1.15)
      }
    }
  }

  /// Long pieces go first, so that short ones fill what they leave, but not for ever.
  @Test func `lets no key get far ahead of another`() {
    withVirtualLoop { loop, time in
      let used = Shared<[Int64]>([0, 0])
      let apart = Shared<[Int64]>([])
      for (key, cost) in [(0, 1), (1, 5)] as [(Int, Int64)] {
        loop.idle.forEach(0..<10_000, key: key) { _, _ in
          if time.now > at(2000) { return .stop }
          time.advance(by: .milliseconds(cost))
          used.value[key] += cost
          apart.value.append(used.value[1] - used.value[0])
          return .continue
        }
      }
      let load = Load(hertz: 60, pieces: 0, cost: 0)
      _ = delays(at: load, loop, time) { time.now > at(2000) }
      // In its first gaps a key runs alone, for its costs to be learned.
      #expect(apart.value.allSatisfy { -20 <= $0 && $0 <= 255 })
      #expect(apart.value.contains { $0 > 200 }, "or nothing was put in order")
      #expect(used.value[0] + used.value[1] >= 2000 * 12 / 17)
    }
  }

  /// One key, and costs that nobody could foresee. Who knows the highest and nothing else lets a
  /// piece begin while that fits, and one after each frame.
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `makes no frame late with costs at random`(seed: UInt64) {
    withVirtualLoop { loop, time in
      let load = Load(hertz: 60, pieces: 0, cost: 0)
      var random = Seeded(state: seed)
      let costs = (0..<1000).map { _ in
        Int64(Double.random(in: 0.1...12, using: &random) * 1_000_000)
      }
      let finished = Shared<Int64>(0)
      loop.idle.forEach(costs, onEnd: { _ in finished.value = time.now.nanoseconds }) { _, cost in
        time.advance(by: .nanoseconds(cost))
        return .continue
      }
      let delays = delays(at: load, loop, time) { finished.value > 0 }
      #expect(delays.allSatisfy { $0 <= 1_000_000 })
      var best = load.period + Self.drawing
      for cost in costs {
        let into = best % load.period
        if into > load.period - 12_000_000 { best += load.period - into + Self.drawing }
        best += cost
      }
      #expect(Double(finished.value) <= Double(best) * 1.05)
    }
  }

  // At 120 Hz there is no room for them, and a frame later they have to be let in all the same.
  @Test func `makes no two frames late in a row, where no gap holds a piece`() {
    let load = Load(hertz: 120, pieces: 100, cost: 5)
    withVirtualLoop { loop, time in
      let isOver = Shared(false)
      let work = loop.idle.forEach(0..<load.pieces, onEnd: { _ in isOver.value = true }) { _, _ in
        time.advance(by: milliseconds(load.cost))
        return .continue
      }
      let delays = delays(at: load, loop, time) { isOver.value }
      #expect(work.progress.done == load.pieces)
      for (delay, next) in zip(delays, delays.dropFirst()) {
        #expect(delay <= 1_000_000 || next <= 1_000_000)
        #expect(delay < 2_000_000)
      }
      #expect(delays.count <= 2 * load.pieces)
    }
  }

  @Test func `packs pieces of many weights by their cost per unit`() {
    let load = Load(hertz: 60, pieces: 0, cost: 0)
    withVirtualLoop { loop, time in
      let weights = (0..<400).map { 1 + ($0 * 7919) % 4000 }
      let finished = Shared(false)
      loop.idle.forEach(weights, weight: { $0 }, onEnd: { _ in finished.value = true }) {
        _, weight in
        time.advance(by: .microseconds(weight))
        return .continue
      }
      let delays = delays(at: load, loop, time) { finished.value }
      #expect(delays.allSatisfy { $0 <= 1_000_000 })
      let total = weights.reduce(0, +)
      // Beside what packing costs, each of twelve classes of weights has a first piece.
      #expect(Double(delays.count) <= Double(total) / 12_667 * 1.2)
    }
  }

  // A piece that no gap holds still makes progress, and never twice between two frames on time.
  @Test func `places what no gap holds right after frames that are on time`() {
    let load = Load(hertz: 60, pieces: 10, cost: 30)
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let finished = Shared(false)
      loop.idle.forEach(0..<4, onEnd: { _ in finished.value = true }) { _, _ in
        timeline.mark("long")
        time.advance(by: .milliseconds(30))
        return .continue
      }
      let late = Shared<[Bool]>([])
      let frames = loop.schedule(every: .nanoseconds(load.period)) { timer in
        late.value.append(time.now.nanoseconds - timer.nextFire.nanoseconds > 1_000_000)
        timeline.mark(late.value.last! ? "late" : "frame")
        time.advance(by: .milliseconds(4))
        if finished.value { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: frames)
      #expect(loop.run() == .finished)
      let marks = timeline.text.split(separator: " ").filter {
        ["long", "late", "frame"].contains($0)
      }
      #expect(
        marks.joined(separator: " ")
          == "long late frame long late frame long late frame long late")
    }
  }

  @Test func `lets short pieces of other keys fill what is left beside a long one`() {
    let load = Load(hertz: 60, pieces: 0, cost: 0)
    withVirtualLoop { loop, time in
      let ran = Shared((long: 0, short: 0))
      loop.idle.forEach(0..<20, key: "long") { _, _ in
        ran.value.long += 1
        time.advance(by: .milliseconds(20))
        return .continue
      }
      loop.idle.forEach(0..<500, key: "short") { _, _ in
        ran.value.short += 1
        time.advance(by: .milliseconds(1))
        return .continue
      }
      _ = delays(at: load, loop, time) { time.now > at(1000) }
      // A second of sixty frames: both got their turns.
      #expect(ran.value.long >= 10)
      #expect(ran.value.short >= 200)
    }
  }

  // flutter/flutter#405 and its kin: the spinner that shows the work starves it.
  @Test func `goes on beside frames that never stop`() {
    let load = Load(hertz: 60, pieces: 0, cost: 0)
    withVirtualLoop { loop, time in
      let ran = Shared(0)
      loop.idle.forEach(0..<10_000, options: .init(priority: .low)) { _, _ in
        ran.value += 1
        time.advance(by: .milliseconds(8))
        return .continue
      }
      let delays = delays(at: load, loop, time) { time.now > at(1000) }
      #expect(ran.value >= delays.count - 1)
      #expect(delays.allSatisfy { $0 <= 1_000_000 })
    }
  }

  // unoplatform/uno#24032, keybase/client#4264
  @Test func `gets a piece by its maximum wait though frames are always late`() {
    withVirtualLoop { loop, time in
      let ran = Shared<[Double]>([])
      // Each frame takes longer than its period.
      let frames = loop.schedule(every: .milliseconds(16)) { timer in
        time.advance(by: .milliseconds(18))
        if time.now > at(4000) { timer.invalidate() }
      }
      loop.idle.frameClock = FrameClock(following: frames)
      let work = loop.idle.forEach(0..<100, options: .init(maximumWait: .milliseconds(500))) {
        _, _ in
        ran.value.append(time.milliseconds)
        time.advance(by: .milliseconds(30))
        return .continue
      }
      loop.schedule(at: at(4000)) { _ in work.cancel() }
      #expect(loop.run() == .finished)
      #expect(ran.value.count >= 6)
      for (earlier, later) in zip(ran.value, ran.value.dropFirst()) {
        #expect(later - earlier <= 700)
      }
    }
  }

  @Test func `gets a piece by its maximum wait though a host tells of no more frames`() {
    withVirtualLoop { loop, time in
      let clock = FrameClock(period: .milliseconds(16))
      clock.frameBegan(dueAt: at(0))
      loop.idle.frameClock = clock
      let ran = Shared<[Double]>([])
      let work = loop.idle.forEach(0..<100, options: .init(maximumWait: .milliseconds(500))) {
        _, _ in
        ran.value.append(time.milliseconds)
        time.advance(by: .milliseconds(30))
        return .continue
      }
      loop.schedule(at: at(4000)) { _ in work.cancel() }
      #expect(loop.run() == .finished)
      #expect(ran.value.count >= 6)
    }
  }

  // A dialog that a frame's handler opens: no frame will come before it returns.
  @Test func `is not held up by the frame clock in a nested run of a frame's handler`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let frames = loop.schedule(every: .milliseconds(16)) { timer in
        timeline.mark("dialog")
        _ = loop.run(in: .default, for: .milliseconds(100))
        timeline.mark("closed")
        timer.invalidate()
      }
      loop.idle.frameClock = FrameClock(following: frames)
      loop.schedule(at: at(20)) { _ in
        loop.idle.forEach(0..<3) { index, _ in
          timeline.mark("\(index)")
          time.advance(by: .milliseconds(25))
          return .continue
        }
      }
      #expect(loop.run() == .finished)
      #expect(
        timeline.text
          == "sleep +16 wake dialog sleep +4 wake 0 +25 1 +25 2 +25 sleep +21 wake closed")
      #expect(time.waits < 20)
    }
  }

  @Test func `is not held up by the frame clock in a mode without frames`() {
    withVirtualLoop(commonModes: [.default, .eventTracking]) { loop, time in
      let ran = Shared(0)
      let frames = loop.schedule(every: .milliseconds(16)) { _ in }
      loop.idle.frameClock = FrameClock(following: frames)
      loop.idle.forEach(0..<10, options: .init(tracking: .run)) { _, _ in
        ran.value += 1
        time.advance(by: .milliseconds(25))
        return .continue
      }
      loop.keepAlive(in: .eventTracking)
      _ = loop.run(in: .eventTracking, for: .milliseconds(300))
      #expect(ran.value == 10)
      #expect(time.waits < 30)
    }
  }

  @Test func `leaves other timers on time as well`() {
    withVirtualLoop { loop, time in
      let late = Shared<[Int64]>([])
      let finished = Shared(false)
      for period in [7, 11, 13] {
        loop.schedule(every: .milliseconds(period)) { timer in
          late.value.append(time.now.nanoseconds - timer.nextFire.nanoseconds)
          if finished.value { timer.invalidate() }
        }
      }
      loop.idle.forEach(0..<500, onEnd: { _ in finished.value = true }) { _, _ in
        time.advance(by: .milliseconds(1))
        return .continue
      }
      #expect(loop.run() == .finished)
      #expect(late.value.allSatisfy { $0 == 0 })
    }
  }
}
