// SPDX-License-Identifier: Apache-2.0

import Lull
import Testing

private func ms(_ count: Double) -> Int64 { Int64((count * 1_000_000).rounded()) }

@Suite struct `Admission` {
  /// A run of thirty seconds without frames must not make every gap between frames look short.
  @Test func `measures gaps between frames by themselves`() {
    var admission = Lull.Admission()
    let before = Lull.Admission.Moment(now: 0, nextFrame: nil, nextTimer: 30_000_000_000)
    admission.look(at: before)
    admission.pieceRan()
    let now: Int64 = 40_000_000_000
    admission.served(due: now, began: now)
    let gap = Lull.Admission.Moment(now: now, nextFrame: now + 12_000_000, nextTimer: .max)
    admission.look(at: gap)
    #expect(admission.admits(Lull.Admission.Piece(cost: nil, overdueAt: .max), at: gap))
  }

  private func moment(_ now: Double, frame: Double? = nil, timer: Double? = nil)
    -> Lull.Admission.Moment
  {
    Lull.Admission.Moment(
      now: ms(now), nextFrame: frame.map(ms), nextTimer: timer.map(ms) ?? .max)
  }

  private func piece(_ cost: Double?, overdueAt: Double = 1000) -> Lull.Admission.Piece {
    Lull.Admission.Piece(cost: cost.map(ms), overdueAt: ms(overdueAt))
  }

  /// One that has seen gaps of 12 ms and whose last piece ran since the last frame.
  private var inGap: Lull.Admission {
    var admission = Lull.Admission()
    admission.look(at: moment(0, frame: 12))
    admission.shareBegins(at: 0)
    admission.pieceRan()
    return admission
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let cost: Double?
    let now: Double
    var frame: Double?
    var timer: Double?
    let admitted: Bool
  }

  @Test(arguments: [
    Case(testDescription: "fits before the frame", cost: 5, now: 3, frame: 12, admitted: true),
    Case(
      testDescription: "fits with nothing but the margin left", cost: 5, now: 6.85, frame: 12,
      admitted: true),
    Case(testDescription: "ends within the margin", cost: 5, now: 6.86, frame: 12, admitted: false),
    Case(testDescription: "runs into the frame", cost: 5, now: 9, frame: 12, admitted: false),
    Case(
      testDescription: "runs into a timer", cost: 5, now: 3, frame: 12, timer: 7, admitted: false),
    Case(testDescription: "fits before a timer", cost: 5, now: 3, timer: 9, admitted: true),
    Case(testDescription: "nothing is coming", cost: 500, now: 3, admitted: true),
    Case(testDescription: "nothing is coming, cost unknown", cost: nil, now: 3, admitted: true),
    Case(
      testDescription: "unknown, a frame is coming", cost: nil, now: 3, frame: 12, admitted: false),
    Case(
      testDescription: "unknown, a timer is near", cost: nil, now: 3, timer: 12, admitted: false),
    Case(testDescription: "unknown, a timer is far", cost: nil, now: 3, timer: 60, admitted: true),
    Case(
      testDescription: "unknown, a frame is far", cost: nil, now: 3, frame: 600, admitted: false),
    Case(testDescription: "longer than any gap", cost: 20, now: 3, frame: 12, admitted: false),
    Case(testDescription: "costs nothing", cost: 0, now: 11, frame: 12, admitted: true),
  ])
  func `of a piece after others in a gap`(case known: Case) {
    let moment = moment(known.now, frame: known.frame, timer: known.timer)
    #expect(inGap.admits(piece(known.cost), at: moment) == known.admitted)
  }

  @Test func `of the unknown, and of what no gap holds, comes right after a frame on time`() {
    var admission = inGap
    for cost in [nil, 20.0] {
      #expect(!admission.admits(piece(cost), at: moment(13, frame: 24)))
      admission.served(due: ms(24), began: ms(24.9))
      #expect(admission.admits(piece(cost), at: moment(25, frame: 36)))
      // What fits a gap, but not the rest of this one, waits for the next.
      #expect(!admission.admits(piece(11.5), at: moment(25, frame: 36)))
      admission.pieceRan()
      #expect(!admission.admits(piece(cost), at: moment(26, frame: 36)))
      admission.served(due: ms(36), began: ms(37.1))
      #expect(!admission.admits(piece(cost), at: moment(38, frame: 48)))
    }
  }

  @Test func `of what no gap holds does not come late in a gap`() {
    var admission = inGap
    admission.served(due: ms(12), began: ms(12))
    admission.look(at: moment(12, frame: 24))
    #expect(admission.admits(piece(20), at: moment(17, frame: 24)))
    #expect(!admission.admits(piece(20), at: moment(19, frame: 24)))
    #expect(!admission.admits(piece(nil), at: moment(19, frame: 24)))
  }

  @Test func `forgets gaps that come no more`() {
    var admission = Lull.Admission()
    admission.look(at: moment(0, frame: 1000))
    var frames = 0
    while true {
      let now = Double(frames) * 10
      admission.served(due: ms(now), began: ms(now))
      admission.look(at: moment(now, frame: now + 10))
      if admission.admits(piece(20, overdueAt: 1e9), at: moment(now, frame: now + 10)) { break }
      frames += 1
    }
    #expect(frames > 1 && frames < 400)
  }

  @Test func `of the overdue comes after a frame on time, and after a while without one`() {
    var admission = inGap
    let overdue = piece(11.5, overdueAt: 100)
    #expect(!admission.admits(overdue, at: moment(110, frame: 112)))
    admission.served(due: ms(112), began: ms(112))
    #expect(admission.admits(overdue, at: moment(114, frame: 124)))
    #expect(!admission.admits(piece(11.5, overdueAt: 200), at: moment(114, frame: 124)))
    admission.served(due: ms(124), began: ms(130))
    admission.shareBegins(at: ms(131))
    #expect(!admission.admits(overdue, at: moment(131, frame: 136)))
    admission.shareBegins(at: ms(212))
    #expect(admission.admits(overdue, at: moment(212, frame: 213)))
    admission.pieceRan()
    #expect(!admission.admits(overdue, at: moment(212, frame: 213)))
  }

  @Test func `asks again at the maximum wait, and when patience is over`() {
    let admission = inGap
    #expect(admission.nextQuestion(about: piece(5, overdueAt: 70), after: ms(30)) == ms(70))
    #expect(admission.nextQuestion(about: piece(5, overdueAt: 70), after: ms(80)) == ms(170))
    #expect(admission.nextQuestion(about: piece(5, overdueAt: 70), after: ms(180)) == ms(180))
  }

  @Test func `spends a budget without a frame clock, a larger one when it is quiet`() {
    var admission = Lull.Admission()
    admission.shareBegins(at: ms(1000))
    #expect(!admission.isSpent(at: moment(1100)))
    admission.pieceRan()
    #expect(!admission.isSpent(at: moment(1049.9)))
    #expect(admission.isSpent(at: moment(1050)))
    admission.event(at: ms(1050))
    admission.shareBegins(at: ms(1100))
    admission.pieceRan()
    #expect(!admission.isSpent(at: moment(1104.9)))
    #expect(admission.isSpent(at: moment(1105)))
    #expect(!admission.isSpent(at: moment(1105, frame: 1110)))
    admission.shareBegins(at: ms(1150))
    admission.pieceRan()
    #expect(!admission.isSpent(at: moment(1190)))
  }

  @Test func `keeps more clear of a frame where pieces took longer than expected`() {
    var admission = Lull.Admission()
    #expect(admission.margin == 150_000)
    for _ in 0..<40 { admission.pieceRan(took: ms(6), expected: ms(5)) }
    #expect(admission.margin > 1_000_000 && admission.margin <= 1_150_000)
    // An accident counts for no more than two milliseconds.
    for _ in 0..<40 { admission.pieceRan(took: ms(500), expected: ms(5)) }
    #expect(admission.margin <= 2_000_000)
    #expect(!admission.admits(piece(5), at: moment(5, frame: 11)))
    for _ in 0..<5000 { admission.pieceRan(took: ms(5), expected: ms(5)) }
    #expect(admission.margin < 151_000)
    #expect(admission.admits(piece(5), at: moment(5, frame: 11)))
  }

  @Test func `hastens one piece a share`() {
    var admission = Lull.Admission()
    admission.shareBegins(at: 0)
    #expect(!admission.hasHastened)
    admission.pieceRan()
    #expect(!admission.hasHastened)
    admission.pieceRan(hastened: true)
    #expect(admission.hasHastened)
    admission.shareBegins(at: 1)
    #expect(!admission.hasHastened)
  }
}

@Suite struct `Cost model` {
  /// Costs are kept in steps of 3 %, and the upper end of a step counts.
  private func about(_ value: Int64?, _ expected: Double) -> Bool {
    guard let value else { return false }
    return Double(value) >= expected && Double(value) <= expected * 1.035 + 1
  }

  @Test func `knows nothing before the first piece`() {
    #expect(CostModel().expected(weight: 1) == nil)
    #expect(CostModel().expected(weight: 1000) == nil)
  }

  @Test(arguments: [0, 1, 31, 32, 1000, 500_000, 5_000_000, 3_600_000_000_000] as [Int64])
  func `takes a second piece to cost what the first did`(cost: Int64) {
    var costs = CostModel()
    costs.learn(cost, weight: 1)
    #expect(about(costs.expected(weight: 1), Double(cost)))
  }

  @Test func `is cautious while few are known, and those differ`() {
    var costs = CostModel()
    #expect(costs.cautious(weight: 1) == nil)
    costs.learn(ms(1), weight: 1)
    // Less what does no harm.
    #expect(about(costs.cautious(weight: 1)! + 300_000, 6_000_000))
    costs.learn(ms(1), weight: 1)
    // Equal ones leave the width of a step.
    #expect(costs.cautious(weight: 1)! < 1_200_000)
    costs.learn(ms(9), weight: 1)
    #expect(costs.cautious(weight: 1)! > 20_000_000)
    for _ in 0..<600 { costs.learn(ms(9), weight: 1) }
    #expect(about(costs.cautious(weight: 1), 9_000_000 * 1.012))
    costs.learn(.max, weight: 1)
    #expect(costs.cautious(weight: .max) == .max)
  }

  @Test func `goes by the highest of a few`() {
    var costs = CostModel()
    for cost in [1, 5, 2, 3] { costs.learn(ms(cost), weight: 1) }
    #expect(about(costs.expected(weight: 1), 5_000_000))
  }

  @Test func `lets one in four hundred cost more`() {
    var costs = CostModel()
    costs.learn(ms(1.2), weight: 1)
    for _ in 0..<398 { costs.learn(ms(1), weight: 1) }
    #expect(about(costs.expected(weight: 1), 1_200_000))
    costs.learn(ms(1), weight: 1)
    #expect(about(costs.expected(weight: 1), 1_000_000))
    costs.learn(ms(1.2), weight: 1)
    #expect(about(costs.expected(weight: 1), 1_200_000))
  }

  /// A thread that lost its processor for 30 ms must not keep its key out of every gap.
  @Test func `takes one far beyond the rest for an accident, and one in fifty for a cost`() {
    var costs = CostModel()
    costs.learn(ms(30), weight: 1)
    for _ in 0..<48 { costs.learn(ms(1), weight: 1) }
    #expect(about(costs.expected(weight: 1), 30_000_000))
    costs.learn(ms(1), weight: 1)
    #expect(about(costs.expected(weight: 1), 1_250_000))
    costs.learn(ms(30), weight: 1)
    #expect(about(costs.expected(weight: 1), 30_000_000))
  }

  @Test func `forgets what was long ago`() {
    var costs = CostModel()
    for _ in 0..<800 { costs.learn(ms(10), weight: 1) }
    var count = 0
    while !about(costs.expected(weight: 1), 1_000_000) {
      costs.learn(ms(1), weight: 1)
      count += 1
    }
    #expect(count > 1000 && count < 10_000)
  }

  @Test func `learns by the unit where pieces have weights`() {
    var costs = CostModel()
    costs.learn(1_000_000, weight: 1000)
    for weight in [512, 600, 1000, 1023] {
      #expect(about(costs.expected(weight: weight), Double(weight) * 1000), "\(weight)")
    }
    // Larger pieces: by the unit of the largest known.
    #expect(about(costs.expected(weight: 64_000), 64_000_000))
  }

  @Test func `keeps the fraction of a nanosecond that a byte costs`() {
    var costs = CostModel()
    costs.learn(250_000, weight: 1 << 20)
    #expect(about(costs.expected(weight: 1 << 20), 250_000))
  }

  @Test func `does not let what a small piece costs to begin count for every unit of a large one`()
  {
    var costs = CostModel()
    for _ in 0..<10 {
      costs.learn(100_000 + 10, weight: 1)
      costs.learn(100_000 + 10 * 100_000, weight: 100_000)
    }
    #expect(about(costs.expected(weight: 100_000), 1_100_000))
    #expect(about(costs.expected(weight: 1), 100_010))
  }

  @Test func `takes a small piece to cost no more than the smallest that is known`() {
    var costs = CostModel()
    costs.learn(1_000_000, weight: 1000)
    // The class of 1000 ends at 1024.
    #expect(about(costs.expected(weight: 1), 1_024_000))
  }

  @Test(arguments: [0, -5, Int.min])
  func `takes a weight below one for one`(weight: Int) {
    var costs = CostModel()
    costs.learn(1000, weight: weight)
    #expect(about(costs.expected(weight: weight), 1000))
    #expect(about(costs.expected(weight: 1), 1000))
  }

  @Test func `survives the ends of its ranges`() {
    var costs = CostModel()
    costs.learn(-5, weight: 1)
    #expect(costs.expected(weight: 1) == 0)
    costs.learn(86_400_000_000_000, weight: 1)
    #expect(costs.expected(weight: .max) == .max)
    costs.learn(.max, weight: 1)
    #expect(costs.expected(weight: 1)! > 86_400_000_000_000)
    costs.learn(1, weight: .max)
    #expect(costs.expected(weight: .max) != nil)
  }
}

private func ms(_ count: Int) -> Int64 { Int64(count) * 1_000_000 }
