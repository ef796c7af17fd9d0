// SPDX-License-Identifier: Apache-2.0
import Glibc

/// `lull demo`: the same work by every strategy, on the same main thread, in the same run.
enum Demo {
  /// Folders of text that a Debian with Swift and git has, in the order they are tried: documents,
  /// scripts and tables, then the headers that Swift's C library needs, then libraries.
  static let standardFolders = ["/usr/share", "/usr/include", "/usr/lib"]
  static let inputPerSecond = 30

  /// How long frames run alone before the work is handed over: as many as come in half a second.
  static func calm(period: Nanoseconds) -> Nanoseconds {
    Nanoseconds(frames(in: 0.5, period: period)) * period
  }

  /// How many frames there are in so many seconds, one at least.
  static func frames(in seconds: Double, period: Nanoseconds) -> Int {
    max(1, Int((seconds * 1e9 / Double(period)).rounded()))
  }

  @MainActor static func run(_ options: DemoOptions) throws {
    // Before anything else: half a minute later is too late to say that it cannot be written.
    if let page = options.page { _ = try openPage(page) }
    let progress = Progress()
    defer { progress.clear() }
    let workload = try Workload.found(for: options, progress: progress)
    let results = try perform(workload, options, progress: progress)
    progress.clear()
    try report(results)
  }

  /// All strategies, one after the other and round by round: what disturbs the machine for a while
  /// then disturbs them all.
  @MainActor private static func perform(
    _ workload: Workload, _ options: DemoOptions, progress: Progress
  ) throws(Failure) -> Results {
    let cast = Cast(comparing: options.compare)
    let strategies = cast.strategies
    var results = Results(
      workload: workload, options: options,
      outcomes: strategies.map { Outcome(name: $0.name, summary: $0.summary, rounds: []) },
      absent: cast.absent)
    if workload.pieceCost == nil { results.note(workload, isStandard: options.path == nil) }
    for round in 1...options.rounds {
      for (index, strategy) in strategies.enumerated() {
        let part = options.rounds > 1 ? "round \(round) of \(options.rounds), " : ""
        progress.show(
          part + "strategy \(index + 1) of \(strategies.count): \(strategy.name)", important: true)
        let stage = Stage(strategy, workload: workload, options: options, seed: UInt64(round))
        do throws(SystemError) {
          let run = try stage.run()
          results.outcomes[index].rounds.append(run.timeline)
          results.note(run, of: strategy)
        } catch {
          throw Failure(message: "\(strategy.name) cannot be run: \(error)")
        }
      }
    }
    results.noteDisturbances()
    return results
  }

  /// The figures first: they are not lost when the page cannot be written.
  private static func report(_ results: Results) throws(Failure) {
    if results.options.json {
      say(results.json.text + "\n")
      for note in results.notes { say("lull demo: \(note)\n", to: STDERR_FILENO) }
    } else {
      say(Report(results: results, style: .standardOutput()).text)
    }
    guard let page = results.options.page else { return }
    let file = try openPage(page)
    do throws(SystemError) {
      try file.truncate()
      try file.write(Page(results: results).html)
    } catch {
      throw Failure(message: "\(page): \(error)")
    }
    if !results.options.json { say("\nThe page is \(page).\n") }
  }

  private static func openPage(_ path: String) throws(Failure) -> Descriptor {
    do throws(SystemError) {
      return try Descriptor(writing: path)
    } catch {
      throw Failure(message: "\(path): \(error)")
    }
  }
}

extension Results {
  /// What of the workload is not plain from the figures.
  fileprivate mutating func note(_ workload: Workload, isStandard: Bool) {
    if isStandard { notes.append("no PATH was given; \(workload.path) was taken") }
    if let summary = workload.leftOut.summary { notes.append("left out: \(summary)") }
    if workload.longestPiece < Workload.largestPiece {
      notes.append(
        "a piece is at most \(workload.longestPiece >> 10) KiB here, about 5 ms of work")
    }
  }

  fileprivate mutating func note(_ run: Stage.Run, of strategy: any Strategy) {
    if run.failures > 0 {
      notes.append("\(strategy.name): \(run.failures) pieces could not be read any more")
    } else if run.timeline.workDone != nil, run.tally != workload.tally {
      notes.append("\(strategy.name) read something else: the files have changed meanwhile")
    }
  }

  /// A machine that is busy with other things makes frames late whatever the strategy.
  fileprivate mutating func noteDisturbances() {
    let figures = outcomes.map(\.figures)
    var signs: [String] = []
    if let none = figures.first(where: { $0.workMs == 0 }), none.hitchMsPerS > 1 {
      signs.append("\(none.lateFrames) frames were late without any work")
    }
    if let worst = figures.max(by: { $0.runQueueDelayMsPerS < $1.runQueueDelayMsPerS }),
      worst.runQueueDelayMsPerS > 5
    {
      signs.append(
        "in \(worst.name) the main thread waited \(short(worst.runQueueDelayMsPerS)) ms/s for a "
          + "processor")
    }
    if let worst = figures.max(by: { $0.stolenMsPerS < $1.stolenMsPerS }), worst.stolenMsPerS > 5 {
      signs.append(
        "other machines took \(short(worst.stolenMsPerS)) ms/s of its processors in \(worst.name)")
    }
    guard !signs.isEmpty else { return }
    let remedy = rounds < 5 ? "; --rounds 5 tells more" : ""
    notes.append("the machine was disturbed: \(signs.joined(separator: ", "))\(remedy)")
  }
}
