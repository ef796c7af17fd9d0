// SPDX-License-Identifier: Apache-2.0

import ParityKit
import Testing

/// Facts that take the main thread, other threads or time limits: in real time, and compared by
/// order alone.
@Suite struct `Live scenarios` {
  @Test(arguments: LiveFact.all)
  func `are the same on CFRunLoop and on Lull, declared differences aside`(_ fact: LiveFact) {
    let name = fact.scenario.rawValue
    let cf = ChildProcess("ParityOracle", ["--live", name]).readLines()
    let lull = ChildProcess("ParityProbe", [name]).readLines()
    #expect(cf.joined(separator: ", ") == fact.cf)
    #expect(lull.joined(separator: ", ") == fact.lull ?? fact.cf)
  }

  @Test func `all say what is expected`() {
    #expect(Set(LiveFact.all.map(\.scenario)) == Set(LiveScenario.allCases))
  }
}

/// A live scenario, the fact it shows, and the events.
struct LiveFact: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let scenario: LiveScenario
  let cf: String
  /// Where Lull differs, by intention.
  let lull: String?

  init(
    _ fact: String, _ title: String, _ scenario: LiveScenario, cf: String, lull: String? = nil
  ) {
    testDescription = "\(fact): \(title)"
    (self.scenario, self.cf, self.lull) = (scenario, cf, lull)
  }

  static let all = [
    LiveFact(
      "S16", "runs with a limit have all four results", .limits,
      cf: "run m1, run m1 -> timedOut, run m1, source, run m1 -> timedOut, "
        + "run m1, source, run m1 -> handledSource, run m1, run m1 -> stopped, "
        + "run m1, run m1 -> finished"),
    LiveFact(
      "S17", "the main loop's default mode is never empty, a custom mode may be",
      .mainIsNeverEmpty,
      cf: "run m0, run m0 -> timedOut, run m1, run m1 -> finished"),
    LiveFact(
      "S75", "another thread's loop is empty at first", .secondaryMayBeEmpty,
      cf: "run m0, run m0 -> finished, run m1, run m1 -> finished"),
    LiveFact(
      "S67", "five blocks of the main queue are one handled source",
      .mainQueueBlocksAreOneSource,
      cf: "run m0, main 1, main 2, main 3, main 4, main 5, run m0 -> handledSource"),
    LiveFact(
      "S67", "a run in a block of the main queue does not drain it", .nestedRunDoesNotDrain,
      cf: "run m0, main 1, run m0, run m0 -> finished, run m0, run m0 -> timedOut, main 2, "
        + "run m0 -> handledSource"),
    LiveFact(
      "S67", "a custom mode does not drain the main queue", .customModeDoesNotDrain,
      cf: "run m1, run m1 -> timedOut, run m0, main, run m0 -> handledSource"),
    LiveFact(
      "S20", "a stop before the run is lost", .lateStop,
      cf: "run m0, run m0 -> timedOut",
      lull: "run m0, run m0 -> stopped"),
    LiveFact(
      "S20", "a stop from another thread ends the sleep", .stopFromElsewhere,
      cf: "run m0, run m0 -> stopped"),
    LiveFact(
      "S62", "a block from another thread does not wake the loop", .performFromElsewhere,
      cf: "run m0, timer, block, run m0 -> stopped",
      lull: "run m0, block, timer, run m0 -> stopped"),
    LiveFact(
      "S46", "a timer from another thread is waited for at once", .timerFromElsewhere,
      cf: "run m0, timer, run m0 -> stopped"),
    LiveFact(
      "S12", "a source signalled from another thread wakes the loop and is handled",
      .signalFromElsewhere,
      cf: "run m0, source, run m0 -> handledSource"),
    LiveFact(
      "S19", "another thread that ends the last item does not wake the loop", .lastItemGoes,
      cf: "run m0, run m0 -> timedOut",
      lull: "run m0, run m0 -> finished"),
    LiveFact(
      "S18", "a run whose only content was one block sleeps to its limit", .onlyABlock,
      cf: "run m0, block, run m0 -> timedOut",
      lull: "run m0, block, run m0 -> finished"),
    LiveFact(
      "S40", "timers fire by their dates", .datesDecide,
      cf: "run m0, timer 1, timer 2, timer 3, timer 4, run m0 -> stopped"),
    LiveFact(
      "S84", "a timer of the default mode waits while another mode runs", .silentInOtherModes,
      cf: "run m1, run m1 -> timedOut, run m0, timer, run m0 -> timedOut"),
  ]
}
