// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LullCommand

@Suite struct ReportTests {
  private static let results: Results = {
    var workload = Workload(path: "/a <b> & \"c\"")
    workload.files = ["x", "y"]
    workload.pieces = [Piece(bytes: 1000), Piece(bytes: 234)]
    workload.tally.frequent = ["the": 3]
    return Results(
      workload: workload, options: DemoOptions(), outcomes: SyntheticRun.outcomes,
      notes: ["left out: 1 FIFO (/a/pipe)"])
  }()

  private func report(width: Int = 80, colored: Bool = false) -> String {
    Report(results: Self.results, style: Style(isColored: colored, width: width)).text
  }

  /// How often `part` occurs in `text`.
  private func occurrences(of part: String, in text: Substring) -> Int {
    text.ranges(of: part).count
  }

  private func part(
    of text: some StringProtocol, from start: String, to end: String
  ) -> Substring? {
    let text = Substring(text)
    guard let first = text.firstRange(of: start) else { return nil }
    let rest = text[first.upperBound...]
    return rest.firstRange(of: end).map { rest[..<$0.lowerBound] }
  }

  @Test func `The made-up strategies look as they should`() {
    let figures = SyntheticRun.outcomes.map(\.figures)
    #expect(figures.map(\.name) == ["none", "all-at-once", "kernel-only", "lulls"])
    #expect(figures[0].lateFrames == 0 && figures[3].lateFrames == 0)
    #expect(figures[1].worstDelayMs > 1900)
    #expect(figures[2].lateFrames > 50 && figures[2].piecesInTheWay > 50)
    #expect(figures[3].piecesInTheWay == 0)
  }

  @Test(arguments: [60, 80, 120, 200])
  func `No line of the report is wider than the terminal`(width: Int) {
    for line in report(width: width).split(separator: "\n") {
      // The table does not shrink.
      #expect(line.count <= max(width, 80), "\(line)")
    }
  }

  @Test func `Without colour there is no escape code, and with it no other text`() {
    let plain = report()
    #expect(!plain.contains("\u{1B}"))
    #expect(report(colored: true).replacing(/\u{1B}\[[0-9;]*m/, with: "") == plain)
  }

  @Test func `The late frames of the picture are those of the table`() {
    for outcome in Self.results.outcomes {
      let late = outcome.figures.lateFrames
      let lines = report().split(separator: "\n").filter { $0.hasPrefix(outcome.name) }
      #expect(lines.contains { $0.contains(" \(late)/\(outcome.figures.frames) ") })
      #expect(lines.contains { $0.hasSuffix(" \(late) late") })
    }
  }

  @Test func `Every frame, every late one and every piece can be counted in the page`() throws {
    let html = Page(results: Self.results).html
    for outcome in Self.results.outcomes {
      let row = try #require(part(of: html, from: "<g id=\"run-\(outcome.name)\">", to: "</svg>"))
      func count(_ group: String) -> Int {
        part(of: row, from: "<g class=\"\(group)\">", to: "</g>")
          .map { occurrences(of: "<path", in: $0) } ?? 0
      }
      let figures = outcome.figures
      #expect(count("late") == figures.lateFrames)
      #expect(count("on") == figures.frames - figures.lateFrames)
      #expect(count("work") == figures.pieces)
      #expect(count("input") == outcome.shown.input.count)
    }
  }

  @Test func `Of very many pieces the page shows where they were, not each`() throws {
    var timeline = Timeline(firstDue: 0, period: 16_666_667, end: 1_000_000_000)
    timeline.frames = [Stretch(start: 0, end: 1)]
    // Two rows of them, with a gap between.
    timeline.pieces = [0, 500_000_000].flatMap { (start: Nanoseconds) in
      (0..<15_000).map { Stretch(start: start + $0 * 20_000, end: start + $0 * 20_000 + 10_000) }
    }
    timeline.workGiven = 0
    var results = Self.results
    results.outcomes = [Outcome(name: "many", summary: "", rounds: [timeline])]
    let html = Page(results: results).html
    let work = try #require(part(of: html, from: "<g class=\"work\">", to: "</g>"))
    #expect(occurrences(of: "<path", in: work) == 2)
  }

  @Test func `The page needs nothing but itself`() {
    let html = Page(results: Self.results).html
    #expect(!html.contains("http"))
    #expect(!html.contains("src="))
    #expect(!html.contains("@import"))
    #expect(html.hasPrefix("<!doctype html>"))
  }

  @Test func `What comes from the file system is escaped in the page`() {
    let html = Page(results: Self.results).html
    #expect(html.contains("/a &lt;b&gt; &amp; &quot;c&quot;"))
    #expect(!html.contains("<b>"))
  }

  @Test func `The JSON has what it promises`() {
    let text = Self.results.json.text
    for key in [
      "files", "bytes", "strategies", "name", "frames", "lateFrames", "piecesInTheWay",
      "worstDelayMs", "hitchMsPerS", "inputP50Ms", "inputP99Ms", "inputWorstMs", "pieces", "workMs",
      "finishedMs", "freeTimeUsed", "runQueueDelayMsPerS", "allRounds",
    ] {
      #expect(text.contains("\"\(key)\": "), "\(key)")
    }
    #expect(text.contains("\"files\": 2,"))
    #expect(text.contains("\"bytes\": 1234,"))
  }

  @Test func `What cannot be played here is told in the table, the page and the JSON`() {
    var results = Self.results
    results.absent = [Cast.Absent(name: "somebody-else", reason: "<its library> is not installed")]
    let report = Report(results: results, style: Style()).text
    #expect(report.contains("\nsomebody-else <its library> is not installed\n"))
    #expect(Page(results: results).html.contains("&lt;its library&gt; is not installed"))
    #expect(
      results.json.text.contains(
        """
          "absent": [
            {
              "name": "somebody-else",
              "reason": "<its library> is not installed"
            }
          ],
        """))
  }

  @Test func `The best peer is the smoothest of those that are not slow`() throws {
    func outcome(_ name: String, lateBy delay: Nanoseconds, done: Nanoseconds) -> Outcome {
      var timeline = Timeline(firstDue: 0, period: 10_000_000, end: 100_000_000)
      timeline.frames = stride(from: delay, to: timeline.end, by: 10_000_000).map {
        Stretch(start: $0, end: $0 + 1_000_000)
      }
      timeline.pieces = [Stretch(start: 5_000_000, end: 6_000_000)]
      timeline.workGiven = 0
      timeline.workDone = done
      return Outcome(name: name, summary: "", rounds: [timeline])
    }
    var results = Self.results
    results.options.compare = true
    results.outcomes = [
      SyntheticRun.outcomes[0],
      outcome("fast", lateBy: 4_000_000, done: 10_000_000),
      outcome("fair", lateBy: 2_000_000, done: 40_000_000),
      outcome("slow", lateBy: 1_500_000, done: 40_000_001),
      outcome("lulls", lateBy: 0, done: 20_000_000),
    ]
    #expect(results.bestPeer?.name == "fair")
    #expect(results.json.text.contains("\"bestPeer\": \"fair\""))
    let report = Report(results: results, style: Style()).text.replacing("\n", with: " ")
    #expect(report.contains("that finish within twice its time is fair, with 200 ms/s."))
    #expect(
      Results(workload: results.workload, options: results.options, outcomes: []).bestPeer == nil)
  }

  @Test func `What was rare is told of all rounds together`() throws {
    func outcome(_ name: String, lateIn rounds: [Bool]) -> Outcome {
      Outcome(
        name: name, summary: "",
        rounds: rounds.map { isLate in
          var timeline = Timeline(firstDue: 0, period: 10_000_000, end: 100_000_000)
          timeline.frames = (0..<10).map { (number: Nanoseconds) in
            let start = number * 10_000_000 + (number == 3 && isLate ? 2_000_000 : 0)
            return Stretch(start: start, end: start + 1_000_000)
          }
          return timeline
        })
    }
    var results = Self.results
    results.outcomes = [
      outcome("none", lateIn: [false, false, false]),
      outcome("lulls", lateIn: [false, true, false]),
    ]
    let report = Report(results: results, style: Style()).text.replacing("\n", with: " ")
    #expect(
      report.contains(
        "Of all 3 rounds: in the way of 0 of 30 frames; late 1, without any work 0."))
    results.outcomes = [outcome("lulls", lateIn: [true])]
    #expect(!Report(results: results, style: Style()).text.contains("Of all"))
  }

  @Test func `Made-up pieces are told as such, with nothing found and no path`() {
    var options = DemoOptions()
    options.hz = 120
    let results = Results(
      workload: .synthetic(pieces: 1200, cost: 500_000), options: options,
      outcomes: SyntheticRun.outcomes)
    let text = results.json.text
    for line in [
      "\"path\": null,", "\"files\": 0,", "\"pieces\": 1200,", "\"pieceCostMs\": 0.5,",
      "\"hz\": 120,",
      "\"framePeriodMs\": 8.333,",
    ] {
      #expect(text.contains(line))
    }
    #expect(Self.results.json.text.contains("\"pieceCostMs\": null,"))
    #expect(results.headline == "1,200 pieces of 0.5 ms, made up: 0.60 s of work.")
    #expect(results.findings == nil)
    let report = Report(results: results, style: Style()).text
    #expect(report.hasPrefix("1,200 pieces of 0.5 ms, made up: 0.60 s of work.\n"))
    #expect(report.contains("a frame every 8.3 ms"))
    let html = Page(results: results).html
    #expect(html.contains("<title>lull demo: made-up pieces</title>"))
    #expect(html.contains("close-up of 150 ms"))
  }

  @Test func `The round that is drawn is the middle one`() {
    let good = SyntheticRun.outcomes[0].shown
    let bad = SyntheticRun.freeze
    #expect(Outcome(name: "x", summary: "", rounds: [good, bad, good]).shown == good)
    #expect(Outcome(name: "x", summary: "", rounds: [bad, bad, good]).shown == bad)
  }

  @Test func `The close-up begins at a due time with work to be seen`() {
    for outcome in SyntheticRun.outcomes.dropFirst() {
      let timeline = outcome.shown
      let span = timeline.closeUp(frames: 8)
      #expect((span.start - timeline.firstDue) % timeline.period == 0)
      #expect(timeline.pieces.contains { $0.overlap(span) > 0 })
    }
    var little = SyntheticRun { _, _, _ in true }
    little.pieces = [1_000_000]
    let timeline = little.timeline()
    #expect(timeline.pieces[0].overlap(timeline.closeUp(frames: 8)) > 0)
  }

  @Test func `Control characters of a name do not reach the terminal`() {
    #expect("a\u{1B}[31mb\nc\u{7F}ü".printable == "a?[31mb?c?ü")
  }

  @Test func `A single file is named alone`() {
    var workload = Workload(path: "/a")
    workload.files = ["/a"]
    workload.pieces = [Piece(bytes: 2048)]
    workload.workTime = 1_500_000
    let results = Results(workload: workload, options: DemoOptions(), outcomes: [])
    #expect(results.headline == "/a, 2.0 kB, in 1 piece: 1.5 ms of work.")
  }
}
