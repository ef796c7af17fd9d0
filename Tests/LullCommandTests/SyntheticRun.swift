// SPDX-License-Identifier: Apache-2.0
@testable import LullCommand

/// A main thread that is made up: frames, input and pieces on a clock that is a number.
///
/// It serves what is due in a fixed order, a frame before input before a piece, and asks a rule
/// whether a piece may run. Good for pictures and figures; it says nothing about the library.
struct SyntheticRun {
  var frameCost: Nanoseconds = 4_000_000
  var inputCost: Nanoseconds = 300_000
  var pieces: [Nanoseconds] = SyntheticRun.somePieces(seconds: 2)
  var workAt: Nanoseconds? = 500_000_000
  var leastFrames = 240
  /// Whether a piece of this length may run now, with the next frame due then.
  var admits: (_ piece: Nanoseconds, _ now: Nanoseconds, _ nextDue: Nanoseconds) -> Bool

  static func somePieces(seconds: Double) -> [Nanoseconds] {
    var random = SplitMix64(seed: 7)
    var result: [Nanoseconds] = []
    var sum: Nanoseconds = 0
    while sum < Nanoseconds(seconds * 1e9) {
      let length = 600_000 + Nanoseconds(random.next() % 8) * 600_000
      result.append(length)
      sum += length
    }
    return result
  }

  func timeline(origin: Nanoseconds = 1_000_000_000_000) -> Timeline {
    let period: Nanoseconds = 16_666_667
    var timeline = Timeline(firstDue: origin, period: period, end: origin)
    var random = SplitMix64(seed: 1)
    var nextInput = origin
    var nextDue = origin
    var now = origin
    var waiting = workAt == nil ? [] : pieces[...]
    timeline.workGiven = workAt.map { origin + $0 }
    while timeline.frames.count < leastFrames || !waiting.isEmpty {
      if now >= nextDue {
        let start = now + 40_000
        now = start + frameCost
        timeline.frames.append(Stretch(start: start, end: now))
        nextDue += max(1, (now - frameCost - nextDue) / period + 1) * period
      } else if now >= nextInput {
        timeline.input.append(
          InputEvent(sent: nextInput, handling: Stretch(start: now, end: now + inputCost)))
        now += inputCost
        nextInput += Nanoseconds(Double(33_000_000) * Double(random.next() % 200) / 100) + 1
      } else if let given = timeline.workGiven, now >= given, let piece = waiting.first,
        admits(piece, now, nextDue)
      {
        waiting.removeFirst()
        timeline.pieces.append(Stretch(start: now, end: now + piece))
        now += piece
        if waiting.isEmpty { timeline.workDone = now }
      } else {
        let given = timeline.workGiven ?? now
        now = min(nextDue, nextInput, given > now ? given : nextDue)
      }
    }
    timeline.end = now
    return timeline
  }

  /// The five strategies, as they are expected to look.
  static var outcomes: [Outcome] {
    var none = SyntheticRun { _, _, _ in false }
    none.workAt = nil
    let lulls = SyntheticRun { piece, now, nextDue in now + piece + 200_000 < nextDue }
    let kernel = SyntheticRun { _, _, _ in true }
    return [
      Outcome(name: "none", summary: "no work at all", rounds: [none.timeline()]),
      Outcome(name: "all-at-once", summary: "all of it in one go", rounds: [freeze]),
      Outcome(name: "kernel-only", summary: "asks the kernel", rounds: [kernel.timeline()]),
      Outcome(name: "lulls", summary: "when it fits", rounds: [lulls.timeline()]),
    ]
  }

  /// All the pieces in a row, and nothing else meanwhile.
  static var freeze: Timeline {
    let all = SyntheticRun { _, _, _ in true }
    var run = all
    let total = run.pieces.reduce(0, +)
    run.pieces = [total]
    var timeline = run.timeline()
    var start = timeline.pieces[0].start
    timeline.pieces = all.pieces.map { length in
      defer { start += length }
      return Stretch(start: start, end: start + length)
    }
    return timeline
  }
}
