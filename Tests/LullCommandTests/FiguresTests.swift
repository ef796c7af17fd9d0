// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LullCommand

/// Timelines drawn by hand, in milliseconds, with a frame due every 10 ms from 0 on.
@Suite struct FiguresTests {
  private func ns(_ ms: Double) -> Nanoseconds { Nanoseconds((ms * 1e6).rounded()) }

  private func stretch(_ start: Double, _ end: Double) -> Stretch {
    Stretch(start: ns(start), end: ns(end))
  }

  private func timeline(
    end: Double, frames: [(Double, Double)] = [], pieces: [(Double, Double)] = [],
    work: (given: Double, done: Double?)? = nil
  ) -> Timeline {
    var result = Timeline(firstDue: 0, period: ns(10), end: ns(end))
    result.frames = frames.map { stretch($0, $1) }
    result.pieces = pieces.map { stretch($0, $1) }
    result.workGiven = work.map { ns($0.given) }
    result.workDone = work?.done.map { ns($0) }
    return result
  }

  private func figures(_ timeline: Timeline) -> Figures {
    Figures(name: "by hand", timeline: timeline)
  }

  @Test func `Frames on time are not late and hitch nothing`() {
    let figures = figures(timeline(end: 30, frames: [(0.1, 4), (10.9, 14), (20, 24)]))
    #expect(figures.frames == 3)
    #expect(figures.lateFrames == 0)
    #expect(figures.hitchMsPerS == 0)
    #expect(figures.worstDelayMs == 0.9)
  }

  @Test func `A delay of exactly a millisecond is not late yet`() {
    #expect(figures(timeline(end: 10, frames: [(1, 4)])).lateFrames == 0)
    #expect(figures(timeline(end: 10, frames: [(1.000_001, 4)])).lateFrames == 1)
  }

  @Test func `The hitch time is the delays of late frames by the length of the run`() {
    let figures = figures(timeline(end: 40, frames: [(0.5, 4), (12, 16), (20, 24), (33, 37)]))
    #expect(figures.lateFrames == 2)
    #expect(figures.worstDelayMs == 3)
    // 2 ms and 3 ms in 0.04 s; the half millisecond is not late.
    #expect(figures.hitchMsPerS == 125)
  }

  @Test func `A due time without a frame is late by the time until the next one began`() {
    let due = timeline(end: 50, frames: [(0, 4), (34, 38), (40, 44)]).framesDue
    #expect(due.map(\.delay) == [0, 24, 14, 4, 0].map { ns($0) })
    // The late frame is shown for the first time it missed; the other two get none.
    #expect(due.map { $0.frame != nil } == [true, true, false, false, true])
    #expect(due.count(where: \.isLate) == 3)
  }

  @Test func `A due time that never got a frame is late until the end`() {
    let due = timeline(end: 45, frames: [(0, 4), (10, 14)]).framesDue
    #expect(due.map(\.delay) == [0, 0, 25, 15, 5].map { ns($0) })
    #expect(due.suffix(3).allSatisfy { $0.frame == nil })
  }

  @Test func `A clock read a moment early does not lose a frame`() {
    let due = timeline(end: 30, frames: [(0, 4), (9.99, 14), (20, 24)]).framesDue
    #expect(due.map(\.delay) == [0, 0, 0])
    #expect(due.allSatisfy { $0.frame != nil })
  }

  @Test func `A piece is in the way when a due time lies more than a little inside it`() {
    func inTheWay(_ pieces: (Double, Double)...) -> Int {
      figures(timeline(end: 40, pieces: pieces)).piecesInTheWay
    }
    #expect(inTheWay((5, 9.9)) == 0)
    #expect(inTheWay((5, 10)) == 0)
    #expect(inTheWay((5, 10.2)) == 0)
    #expect(inTheWay((5, 10.3)) == 1)
    #expect(inTheWay((10, 12)) == 1)
    #expect(inTheWay((10.1, 12)) == 0)
    #expect(inTheWay((5, 35)) == 3)
    #expect(inTheWay((5, 11), (12, 21), (21, 31), (32, 33)) == 3)
  }

  @Test func `Input is measured from when it was sent until its handler began`() {
    var timeline = timeline(end: 100)
    timeline.input = (1...100).map { index in
      let sent = ns(Double(index))
      return InputEvent(
        sent: sent, handling: Stretch(start: sent + ns(Double(index) / 10), end: sent + ns(50)))
    }
    let figures = figures(timeline)
    #expect(figures.inputP50Ms == 5)
    #expect(figures.inputP99Ms == 9.9)
    #expect(figures.inputWorstMs == 10)
  }

  @Test func `Without input there are no input figures`() {
    let figures = figures(timeline(end: 10, frames: [(0, 1)]))
    #expect(figures.inputP50Ms == nil && figures.inputP99Ms == nil && figures.inputWorstMs == nil)
  }

  @Test func `Free time is what frames and input leave while there is work`() throws {
    var run = timeline(
      end: 60, frames: [(0, 4), (10, 14), (20, 24), (30, 34), (40, 44), (50, 54)],
      pieces: [(14, 19), (24, 28), (34, 37)], work: (given: 12, done: 37))
    run.input = [InputEvent(sent: ns(19), handling: stretch(19, 20))]
    let figures = figures(run)
    // 25 ms with work left, of which frames took 2 + 4 + 4 - 1 and input 1: 15 are free, 12 used.
    let free = 25.0 - (2 + 4 + 3) - 1 - 1
    #expect(abs(try #require(figures.freeTimeUsed) - 12 / (free + 0)) < 0.001)
    #expect(figures.finishedMs == 25)
    #expect(figures.workMs == 12)
    #expect(figures.longestPieceMs == 5)
    #expect(figures.pieces == 3)
  }

  @Test func `Work that was cut off is not finished, and its free time ends with the run`() {
    let figures = figures(
      timeline(end: 20, frames: [(0, 5), (10, 15)], pieces: [(5, 10)], work: (given: 0, done: nil)))
    #expect(figures.finishedMs == nil)
    #expect(figures.freeTimeUsed == 0.5)
  }

  @Test func `Work of which nothing was done is work all the same`() {
    let figures = figures(timeline(end: 20, frames: [(0, 5)], work: (given: 0, done: nil)))
    #expect(figures.hasWork && figures.pieces == 0 && figures.finishedMs == nil)
    #expect(!self.figures(timeline(end: 20, frames: [(0, 5)])).hasWork)
  }

  @Test func `Without work there is no free time to be used`() {
    let figures = figures(timeline(end: 20, frames: [(0, 4), (10, 14)]))
    #expect(figures.freeTimeUsed == nil && figures.finishedMs == nil && figures.workMs == 0)
  }

  @Test func `The delay in the run queue is by the length of the run`() {
    var run = timeline(end: 500)
    run.runQueueDelay = ns(3)
    run.stolen = ns(20)
    #expect(figures(run).runQueueDelayMsPerS == 6)
    #expect(figures(run).stolenMsPerS == 40)
  }

  @Test func `An empty run has figures too`() {
    let figures = figures(timeline(end: 0))
    #expect(figures.frames == 0 && figures.hitchMsPerS == 0 && figures.worstDelayMs == 0)
  }

  @Test func `Half a second of frames is thirty at 60 Hz, and one at least`() {
    #expect(Demo.calm(period: 16_666_667) == 30 * 16_666_667)
    #expect(Demo.calm(period: 1_000_000) == 500_000_000)
    #expect(Demo.calm(period: 1_000_000_000) == 1_000_000_000)
    #expect(Demo.frames(in: 4, period: 16_666_667) == 240)
  }

  @Test(arguments: [(0.0, 1), (0.5, 2), (0.51, 3), (0.75, 3), (0.99, 4), (1.0, 4)])
  func `A percentile is a value that was measured`(share: Double, value: Int) {
    #expect(percentile(share, of: [1, 2, 3, 4]) == value)
    #expect(percentile(share, of: [Int]()) == nil)
  }

  @Test func `Medians are taken of each figure by itself`() throws {
    let rounds = [
      timeline(end: 30, frames: [(0, 1), (15, 16), (20, 21)]),
      timeline(end: 30, frames: [(0, 1), (12, 13), (23, 24)]),
      timeline(end: 30, frames: [(0, 1), (10, 11), (20, 21)]),
    ].map(figures)
    let median = try #require(Figures.median(of: rounds))
    #expect(median.lateFrames == 1)
    #expect(median.worstDelayMs == 3)
    #expect(median.frames == 3)
    #expect(
      median.allRounds
        == Figures.Sums(
          frames: rounds.reduce(0) { $0 + $1.frames },
          lateFrames: rounds.reduce(0) { $0 + $1.lateFrames },
          piecesInTheWay: rounds.reduce(0) { $0 + $1.piecesInTheWay }))
    #expect(median.allRounds.lateFrames > median.lateFrames)
    #expect(Figures.median(of: []) == nil)
  }

  @Test func `A round that was cut off counts as the longest`() throws {
    func round(_ done: Double?) -> Figures {
      figures(timeline(end: 30, pieces: [(0, 1)], work: (given: 0, done: done)))
    }
    #expect(try #require(Figures.median(of: [round(nil), round(10), round(8)])).finishedMs == 10)
    #expect(try #require(Figures.median(of: [round(nil), round(nil), round(8)])).finishedMs == nil)
  }
}
