// SPDX-License-Identifier: Apache-2.0

internal import Glibc
import ParityKit
import Testing

/// Facts about CFRunLoop, each seen on the real one and on Lull.
@Suite struct `Scenarios` {
  @Test(arguments: Scenario.all)
  func `are the same on CFRunLoop and on Lull, declared differences aside`(_ scenario: Scenario) {
    let comparison = Comparison(
      scenario.program, cf: Scenario.onCFRunLoop[scenario.testDescription]!)
    #expect(Trace.compact(comparison.cf) == scenario.cf)
    #expect(Trace.compact(comparison.lull) == scenario.lull?.trace ?? scenario.cf)
    if let complaint = comparison.complaint { Issue.record("\(complaint)\n\(comparison.table)") }
    if let by = scenario.lull?.by {
      #expect(comparison.uses[by] != nil, "the model does not know this for \(by.name)")
      #expect(comparison.cf != comparison.lull, "they do not differ any more")
    }
  }

  /// Virtual time could be wrong in the same way on both sides.
  @Test func `are the same in real time, order by order`() {
    let titles = [
      "a timer fires after the wait",
      "a pass that performed a source is followed by one that sleeps",
      "dates missed by a long callback coalesce into none, and the grid stays",
      "a source is handled; timers, blocks, observers and wake-ups are not",
      "a stop in a handled source gives stopped if the run was not to return after one",
      "the current mode is the innermost run's, and there is none outside",
    ]
    let scenarios = Scenario.all.filter { titles.contains($0.title) }
    #expect(scenarios.count == titles.count)
    let oracle = OracleProcess(isReal: true)
    for scenario in scenarios {
      let expected = Trace.order(scenario.cf)
      var (cf, lull): ([String], [String]) = ([], [])
      // A machine that is busy elsewhere may let a date of a grid pass, so not once for all.
      for _ in 0..<10 where cf != expected || lull != expected {
        cf = Trace.order(oracle.trace(of: scenario.program.description))
        lull = Trace.order(
          LullLoop.realTrace(of: scenario.program).joined(separator: Comparison.separator))
      }
      #expect(cf == expected, "\(scenario.testDescription)")
      #expect(lull == expected, "\(scenario.testDescription)")
    }
  }

  @Test func `stand for every fact that a program can express`() {
    let told = Set(Scenario.all.map(\.fact))
    for fact in Scenario.facts { #expect(told.contains(fact), "no scenario for \(fact)") }
  }

  @Test func `show every intended difference`() {
    let shown = Set(Scenario.all.compactMap { $0.lull?.by })
    for difference in Difference.allCases { #expect(shown.contains(difference)) }
  }
}

extension Scenario {
  static let all = modes + runs + results + sources + timers + dates + observers + blocks

  /// What was observed on CFRunLoop and needs one thread and one loop only. What else there is
  /// (the main loop, other threads, time limits) is in `LiveFact`.
  static let facts =
    [3, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 22, 23, 25, 26, 27, 28, 29, 30, 31]
    .map { "S\($0)" }
    + [37, 39, 40, 41, 42, 43, 44, 45, 47, 48, 50, 51, 53, 54, 55, 57, 58, 60, 61, 84]
    .map { "S\($0)" }

  /// The traces of all scenarios, from one process.
  static let onCFRunLoop: [String: String] = {
    let oracle = OracleProcess()
    return Dictionary(
      all.map { ($0.testDescription, oracle.trace(of: $0.program.description)) },
      uniquingKeysWith: { _, _ in preconditionFailure("two scenarios have one title") })
  }()
}
