// SPDX-License-Identifier: Apache-2.0

/// What the next piece of a key will cost, learned from what its pieces took.
///
/// The answer is a high quantile, not a mean: a piece that was thought shorter than it is delays a
/// frame, one that was thought longer wastes a little of a gap. Where pieces have weights (bytes,
/// rows) costs are kept per unit, in classes of weight by powers of two, so that what a small piece
/// costs to begin does not count for every unit of a large one.
///
/// A value: it is told durations and reads no clock.
package struct CostModel {
  private var classes: [Histogram] = []
  /// How many costs it has learned, in all classes.
  private var known = 0

  package init() {}

  /// Whether it has learned nothing yet.
  var isEmpty: Bool { classes.isEmpty }

  /// Nanoseconds that a piece of `weight` is expected to take at most; nil before the first.
  package func expected(weight: Int) -> Int64? { cost(weight) { $0.bound } }

  /// The same where much depends on it: more, while few are known and those differ.
  package func cautious(weight: Int) -> Int64? {
    guard let expected = expected(weight: weight),
      let cautious = cost(weight, { $0.cautiousBound(amongOthers: known > $0.total + 1) })
    else { return nil }
    return max(expected, cautious - CostModel.harmless)
  }

  private func cost(_ weight: Int, _ bound: (Histogram) -> Int64) -> Int64? {
    let own = CostModel.weightClass(weight)
    if knows(own) { return scaled(bound(classes[own]), weight) }
    // From smaller pieces the cost of a unit errs high; a larger piece costs at least as much.
    for smaller in stride(from: own - 1, through: 0, by: -1) where knows(smaller) {
      return scaled(bound(classes[smaller]), weight)
    }
    for larger in stride(from: own + 1, to: classes.count, by: 1) where knows(larger) {
      return scaled(bound(classes[larger]), 2 << larger)
    }
    return nil
  }

  private func knows(_ number: Int) -> Bool {
    number < classes.count && classes[number].total > 0
  }

  /// Learns that a piece of `weight` took `duration` nanoseconds.
  package mutating func learn(_ duration: Int64, weight: Int) {
    let own = CostModel.weightClass(weight)
    while classes.count <= own { classes.append(Histogram()) }
    let held = min(max(0, duration), CostModel.longest)
    let units = held * CostModel.unit
    let perUnit = weight > 1 ? units / Int64(weight) : units
    known += 1
    classes[own].add(perUnit)
  }

  /// So much longer than expected a piece may be without harm, in nanoseconds.
  private static let harmless: Int64 = 300_000
  /// Costs of a unit are kept in 1/1024 ns, since a byte may cost a fraction of one.
  private static let unit: Int64 = 1024
  /// 52 days, so that no product overflows.
  private static let longest: Int64 = 1 << 52

  private func scaled(_ perUnit: Int64, _ weight: Int) -> Int64 {
    let (product, overflow) = perUnit.multipliedReportingOverflow(by: Int64(max(1, weight)))
    return overflow ? .max : product / CostModel.unit
  }

  private static func weightClass(_ weight: Int) -> Int {
    Int.bitWidth - 1 - max(1, weight).leadingZeroBitCount
  }
}

/// How often which cost was seen, in steps of 3 %, the latest thousand or so counting most.
private struct Histogram {
  private static let stepsPerOctave: Int64 = 32
  private static let memory = 1600
  /// One in so many exceeds what is usual.
  private static let usual = 50

  private var counts: [UInt16] = []
  private(set) var total = 0
  /// The costs that one in 400, and one in 50, exceeded.
  private var rare = Cursor()
  private var seldom = Cursor()
  /// What a piece is taken to cost at most: all but one in 400 stayed below, at first all.
  ///
  /// What is far beyond all but one in 50 is taken for an accident, such as a thread that lost its
  /// processor: it would keep the key out of every gap for hundreds of pieces, and no caution helps
  /// against the next one.
  private(set) var bound: Int64 = 0
  private var least = Int64.max
  /// So many usual costs change nothing but their count.
  private var quiet = 0

  /// Of few that differ the next may well exceed the highest: by eight times their spread, shared
  /// by how many they are. One alone says nothing of its spread; less caution does where pieces of
  /// other weights are known.
  func cautiousBound(amongOthers: Bool) -> Int64 {
    if total == 1 {
      if amongOthers { return bound.addingClamped(bound / 2) }
      return bound > .max / 6 ? .max : 6 * bound
    }
    let more = (bound - min(bound, least)).multipliedReportingOverflow(by: 8)
    return more.overflow ? .max : bound.addingClamped(more.partialValue / Int64(max(1, total)))
  }

  @inline(__always)
  mutating func add(_ cost: Int64) {
    let step = Histogram.step(of: cost)
    least = min(least, cost)
    guard quiet > 0, step <= seldom.step else { return addUnusual(step) }
    quiet -= 1
    total += 1
    counts[step] += 1
  }

  private mutating func addUnusual(_ step: Int) {
    while counts.count <= step { counts.append(0) }
    counts[step] += 1
    total += 1
    rare.note(step)
    seldom.note(step)
    if total >= Histogram.memory { forgetHalf() }
    rare.settle(below: total / 400, counts)
    seldom.settle(below: total / Histogram.usual, counts)
    quiet = Histogram.usual - 1 - total % Histogram.usual
    let usual = Histogram.upperEnd(of: seldom.step)
    bound = min(Histogram.upperEnd(of: rare.step), usual.addingClamped(usual / 4))
  }

  /// A step that moves with the counts, so that nothing has to be counted again for each.
  private struct Cursor {
    /// The lowest step above which there are no more than so many.
    private(set) var step = 0
    /// How many are above.
    private var above = 0

    @inline(__always)
    mutating func note(_ added: Int) { if added > step { above += 1 } }

    /// So many were taken away from above.
    mutating func recount(_ counts: [UInt16]) {
      above = counts[(step + 1)...].reduce(0) { $0 + Int($1) }
    }

    @inline(__always)
    mutating func settle(below most: Int, _ counts: [UInt16]) {
      while above > most {
        repeat { step += 1 } while counts[step] == 0
        above -= Int(counts[step])
      }
      while above + Int(counts[step]) <= most {
        above += Int(counts[step])
        repeat { step -= 1 } while counts[step] == 0
      }
    }
  }

  private mutating func forgetHalf() {
    total = 0
    for step in counts.indices {
      counts[step] /= 2
      total += Int(counts[step])
    }
    rare.recount(counts)
    seldom.recount(counts)
  }

  /// Steps are even up to 32, then 32 an octave.
  private static func step(of cost: Int64) -> Int {
    guard cost >= stepsPerOctave else { return Int(cost) }
    let shift = Int64.bitWidth - 1 - cost.leadingZeroBitCount - 5
    return Int(stepsPerOctave) * shift + Int(cost >> Int64(shift))
  }

  private static func upperEnd(of step: Int) -> Int64 {
    guard step >= Int(stepsPerOctave) else { return Int64(step) }
    let shift = step / Int(stepsPerOctave) - 1
    return (Int64(step % Int(stepsPerOctave)) + stepsPerOctave + 1) << Int64(shift)
  }
}
