// SPDX-License-Identifier: Apache-2.0

/// The results as a page that needs nothing but itself: no font, image or script from elsewhere.
///
/// Where scripts are off it is complete as well; with them the close-ups follow the pointer.
struct Page {
  var results: Results

  /// The length of a close-up: eighteen frames, in milliseconds.
  private var closeUp: Double { (18 * milliseconds(results.options.period)).rounded() }

  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>lull demo: \(escaped(results.title))</title>
    <style>
    \(PageStyle.css)
    </style>
    </head>
    <body>
    <main>
    <header>
    <h1>The same work, \(results.outcomes.count == 1 ? "one way" : "\(countWord) ways")</h1>
    <p>\(escaped([results.headline, results.findings].compactMap { $0 }.joined(separator: " ")))</p>
    <p>\(escaped(conditions))</p>
    </header>
    \(legend)
    \(results.outcomes.map(row).joined(separator: "\n"))
    \(axis)
    <p class="hint">Each row is the main thread, all on one scale: above the whole run, below a
    close-up of \(Int(closeUp)) ms. <span class="script">Move the pointer along a run to see
    another part of all of them.</span></p>
    \(table)
    \(notes)
    </main>
    <script>
    \(PageStyle.script)
    </script>
    </body>
    </html>

    """
  }

  private var countWord: String {
    let words = [
      "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    ]
    let count = results.outcomes.count
    return count < words.count ? words[count] : "\(count)"
  }

  private var conditions: String {
    let rounds =
      results.rounds > 1
      ? " There were \(results.rounds) rounds: of each strategy the middle one is drawn, with its "
        + "figures; the table has the medians."
      : ""
    return "The thread that does the work also shows a frame every "
      + "\(decimal(milliseconds(results.options.period), places: 1)) ms, with "
      + "\(decimal(results.options.frameCost, places: 1, trimmed: true)) ms of work in it, and "
      + "answers about \(Demo.inputPerSecond) input events a second." + rounds
  }

  private var legend: String {
    """
    <ul class="legend">
    <li><i class="on"></i>frame on time</li>
    <li><i class="late"></i>frame late or never shown, at its due time</li>
    <li><i class="wait"></i>the time it was waited for</li>
    <li><i class="work"></i>a piece of work</li>
    <li><i class="input"></i>an input event, until it was handled</li>
    <li><i class="given"></i>the work is handed over</li>
    </ul>
    """
  }

  // MARK: - Rows

  /// The whole run of the longest strategy, in milliseconds.
  private var length: Double {
    results.outcomes.map { milliseconds($0.shown.span.length) }.max() ?? 0
  }

  private func row(_ outcome: Outcome) -> String {
    let timeline = outcome.shown
    let due = timeline.framesDue
    let late = due.count(where: \.isLate)
    // Of the round that is drawn, so that they can be counted in it; the table has the medians.
    let figures = Figures(name: outcome.name, timeline: timeline)
    let start = milliseconds(timeline.closeUp(frames: 1).start - timeline.firstDue) - closeUp / 150
    let id = "run-\(outcome.name)"
    let label = "\(outcome.name): \(late) of \(due.count) frames late"
    return """
      <section class="row" id="\(outcome.name)">
      <div class="head">
      <h2>\(outcome.name)</h2><p>\(escaped(outcome.summary))</p>
      <dl>
      \(fact("late frames", "\(late)<small> of \(due.count)</small>", bad: late > 0))
      \(fact("worst delay", unit(figures.worstDelayMs, "ms"), bad: figures.worstDelayMs > 1))
      \(fact("hitch time", unit(figures.hitchMsPerS, "ms/s"), bad: figures.hitchMsPerS > 1))
      \(fact("work done in", done(figures), bad: figures.hasWork && figures.finishedMs == nil))
      </dl>
      </div>
      <svg class="run" viewBox="0 0 \(coordinate(length)) 56" preserveAspectRatio="none" role="img"
       aria-label="\(label)">
      <rect class="window" x="\(coordinate(start))" y="0" width="\(Int(closeUp))" height="56"/>
      \(handedOver(timeline))
      <g id="\(id)">
      \(marks(timeline, due))
      </g>
      </svg>
      <svg class="close" viewBox="\(coordinate(start)) 0 \(Int(closeUp)) 56"
       preserveAspectRatio="none" aria-hidden="true">
      <use href="#\(id)"/>
      </svg>
      </section>
      """
  }

  /// When the work began to wait.
  private func handedOver(_ timeline: Timeline) -> String {
    guard let given = timeline.workGiven else { return "" }
    let x = coordinate(milliseconds(given - timeline.firstDue))
    return "<path class=\"given\" d=\"M\(x) 0v56\"/>"
  }

  /// Seconds, below the last row.
  private var axis: String {
    let step = length > 12_000 ? 5 : length > 5000 ? 1 : 0.5
    let labels = stride(from: 0, through: length / 1000, by: step).map { second in
      let place = decimal(second * 100_000 / max(1, length), places: 2)
      return "<span style=\"left:\(place)%\">\(decimal(second, places: 1, trimmed: true)) s</span>"
    }
    return "<div class=\"axis\">\(labels.joined())</div>"
  }

  private func fact(_ name: String, _ value: String, bad: Bool) -> String {
    "<div><dt>\(name)</dt><dd\(bad ? " class=\"bad\"" : "")>\(value)</dd></div>"
  }

  private func unit(_ value: Double, _ unit: String) -> String {
    "\(grouping(value))<small> \(unit)</small>"
  }

  private func grouping(_ value: Double) -> String {
    value < 9999.5 ? short(value) : grouped(Int(value.rounded()))
  }

  private func done(_ figures: Figures) -> String {
    guard figures.hasWork else { return "–" }
    guard let finished = figures.finishedMs else { return "cut off" }
    return unit(finished / 1000, "s")
  }

  /// More pieces than this are not told from each other, or a page of them would be hundreds of
  /// megabytes.
  static let mostPieces = 20_000

  /// One path for each thing, so that they can be counted, in groups by what they are.
  private func marks(_ timeline: Timeline, _ due: [FrameDue]) -> String {
    let origin = timeline.firstDue
    func box(_ start: Nanoseconds, _ length: Nanoseconds, _ top: Int, _ height: Int) -> String {
      let x = coordinate(milliseconds(start - origin))
      let width = coordinate(max(0.05, milliseconds(length)))
      return "<path d=\"M\(x) \(top)h\(width)v\(height)h-\(width)z\"/>"
    }
    func group(_ name: String, _ boxes: [String]) -> String {
      boxes.isEmpty ? "" : "<g class=\"\(name)\">\(boxes.joined())</g>"
    }
    /// A frame without work is still to be seen, and so is one that was never shown.
    let thinnest = min(1_200_000, timeline.period / 8)
    let late = due.filter(\.isLate)
    let waits = joined(late.map { Stretch(start: $0.due, end: $0.due + $0.delay) }, within: 0)
    let isCrowded = timeline.pieces.count > Self.mostPieces
    let pieces = isCrowded ? joined(timeline.pieces, within: 100_000) : timeline.pieces
    return [
      group("wait", waits.map { box($0.start, $0.length, 6, 34) }),
      group("work", pieces.map { box($0.start, $0.length, 18, 22) }),
      group(
        "shown",
        late.compactMap(\.frame).map { box($0.start, max(thinnest, $0.length), 6, 34) }),
      group(
        "on",
        due.filter { !$0.isLate }.compactMap(\.frame)
          .map { box($0.start, max(thinnest, $0.length), 6, 34) }),
      group("late", late.map { box($0.due, thinnest, 0, 40) }),
      group("input", timeline.input.map { box($0.sent, max(thinnest, $0.latency), 45, 6) }),
    ].filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// Stretches in the order they begin, with those made one that overlap or are so near.
  private func joined(_ stretches: [Stretch], within gap: Nanoseconds) -> [Stretch] {
    var result: [Stretch] = []
    for stretch in stretches {
      if let last = result.last, stretch.start <= last.end + gap {
        result[result.count - 1].end = max(last.end, stretch.end)
      } else {
        result.append(stretch)
      }
    }
    return result
  }

  private func coordinate(_ value: Double) -> String { decimal(value, places: 2, trimmed: true) }

  // MARK: - Below the rows

  private var table: String {
    let heads = [
      "strategy", "frames", "late", "work in the way", "worst delay ms", "hitch time ms/s",
      "input p50 ms", "input p99 ms", "input worst ms", "pieces", "piece p50 ms",
      "longest piece ms", "work ms",
      "finished ms", "free time used", "waited for a processor ms/s",
    ]
    let rows = results.outcomes.map(\.figures).map { figures in
      let hasWork = figures.hasWork
      let start = [
        cell("\(figures.frames)"), cell("\(figures.lateFrames)", bad: figures.lateFrames > 0),
        cell("\(figures.piecesInTheWay)", bad: figures.piecesInTheWay > 0),
        cell(grouping(figures.worstDelayMs), bad: figures.worstDelayMs > 1),
        cell(grouping(figures.hitchMsPerS), bad: figures.hitchMsPerS > 1),
      ]
      let rest = [
        short(figures.inputP50Ms), short(figures.inputP99Ms), short(figures.inputWorstMs),
        "\(figures.pieces)", short(figures.pieceP50Ms),
        hasWork ? short(figures.longestPieceMs) : "–", hasWork ? short(figures.workMs) : "–",
        hasWork ? figures.finishedMs.map { short($0) } ?? "cut off" : "–",
        figures.freeTimeUsed.map(percent) ?? "–",
        short(figures.runQueueDelayMsPerS),
      ]
      return "<tr><th scope=\"row\">\(figures.name)</th>"
        + start.joined() + rest.map { cell($0) }.joined() + "</tr>"
    }
    let absent = results.absent.map {
      "<tr><th scope=\"row\">\($0.name)</th><td class=\"absent\" colspan=\"\(heads.count - 1)\">"
        + "\(escaped($0.reason))</td></tr>"
    }
    return """
      <div class="wide">
      <table>
      <thead><tr>\(heads.map { "<th scope=\"col\">\($0)</th>" }.joined())</tr></thead>
      <tbody>
      \((rows + absent).joined(separator: "\n"))
      </tbody>
      </table>
      </div>
      """
  }

  private func cell(_ text: String, bad: Bool = false) -> String {
    "<td\(bad ? " class=\"bad\"" : "")>\(text)</td>"
  }

  private var notes: String {
    let definitions = """
      A frame's delay is the time from when it was due until it began; it is late when that is more
      than 1 ms. A frame that was never shown counts as late by the time until the next one began.
      Hitch time is the sum of the delays of late frames, for each second. Work is in the way when a
      piece runs over a frame's due time by more than 0.2 ms. Free time is what neither frames nor
      input took while there was work left.
      """
    let items = results.notes.map { "<li>\(escaped($0))</li>" }
    return """
      <footer>
      <p>\(definitions)</p>
      \(items.isEmpty ? "" : "<ul>\(items.joined())</ul>")
      </footer>
      """
  }

  private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
  }
}
