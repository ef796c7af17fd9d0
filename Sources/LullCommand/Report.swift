// SPDX-License-Identifier: Apache-2.0

/// The results as text: a table, and the timelines drawn below it.
struct Report {
  var results: Results
  var style: Style

  var text: String {
    let parts: [String?] = [
      introduction, table, timelines, closeUps, verdict,
      results.notes.isEmpty
        ? nil : results.notes.map { style.wrapped("note: " + $0) }.joined(separator: "\n"),
    ]
    return parts.compactMap { $0 }.joined(separator: "\n\n") + "\n"
  }

  private var introduction: String {
    [
      [results.headline, results.findings].compactMap { $0 }.joined(separator: " "),
      "On the same main thread: a frame every "
        + "\(decimal(milliseconds(results.options.period), places: 1)) ms with "
        + "\(decimal(results.options.frameCost, places: 1, trimmed: true)) ms of work in it, "
        + "and about \(Demo.inputPerSecond) input events a second.",
      results.rounds > 1
        ? "Medians of \(results.rounds) rounds; of each strategy the middle round is drawn." : nil,
    ].compactMap { $0.map(style.wrapped) }.joined(separator: "\n")
  }

  // MARK: - The table

  private struct Column: Sendable {
    var head: (String, String)
    /// What it takes with values as they usually are.
    var width: Int
    var value: @Sendable (Figures) -> String
    /// Whether the value is one to be warned of.
    var isBad: @Sendable (Figures) -> Bool = { _ in false }
  }

  private static let columns: [Column] = [
    Column(
      head: ("late", "frames"), width: 8, value: { "\($0.lateFrames)/\($0.frames)" },
      isBad: { $0.lateFrames > 0 }),
    Column(
      head: ("in the", "way"), width: 7, value: { "\($0.piecesInTheWay)" },
      isBad: { $0.piecesInTheWay > 0 }),
    Column(
      head: ("worst", "delay"), width: 6, value: { short($0.worstDelayMs) },
      isBad: { $0.worstDelayMs > milliseconds(FrameDue.lateness) }),
    Column(
      head: ("hitch", "ms/s"), width: 6, value: { short($0.hitchMsPerS) },
      isBad: { $0.hitchMsPerS > 1 }),
    Column(head: ("input", "p50"), width: 6, value: { short($0.inputP50Ms) }),
    Column(head: ("", "p99"), width: 6, value: { short($0.inputP99Ms) }),
    Column(head: ("", "worst"), width: 6, value: { short($0.inputWorstMs) }),
    Column(head: ("work", "ms"), width: 6, value: { $0.hasWork ? short($0.workMs) : "–" }),
    Column(
      head: ("finished", "ms"), width: 9,
      value: { $0.hasWork ? $0.finishedMs.map { short($0) } ?? "cut off" : "–" }),
    Column(
      head: ("free", "used"), width: 5,
      value: { $0.freeTimeUsed.map(percent) ?? "–" }),
  ]

  private var nameWidth: Int {
    let names = results.outcomes.map(\.name) + results.absent.map(\.name)
    return 1 + (names.map(\.count) + [12]).max()!
  }

  private var table: String {
    let figures = results.outcomes.map(\.figures)
    let columns = Self.columns.map { column in
      var column = column
      column.width = figures.reduce(column.width) { max($0, column.value($1).count + 1) }
      return column
    }
    var lines = [
      "".padded(to: nameWidth)
        + columns.map { $0.head.0.padded(to: $0.width, right: true) }.joined(),
      "strategy".padded(to: nameWidth)
        + columns.map { $0.head.1.padded(to: $0.width, right: true) }.joined(),
    ].map { style.paint($0, .faint) }
    for figures in figures {
      let cells = columns.map { column in
        let text = column.value(figures).padded(to: column.width, right: true)
        return column.isBad(figures) ? style.paint(text, .late) : text
      }
      lines.append(style.paint(figures.name.padded(to: nameWidth), .strong) + cells.joined())
    }
    for absent in results.absent {
      lines.append(style.paint(absent.name.padded(to: nameWidth), .strong) + absent.reason)
    }
    return lines.joined(separator: "\n")
  }

  // MARK: - The picture

  private var timelines: String? {
    let length = results.outcomes.map { $0.shown.span.length }.max() ?? 0
    guard length > 0 else { return nil }
    let tail = 12
    let columns = style.width - nameWidth - tail
    var lines: [String] = []
    for outcome in results.outcomes {
      let timeline = outcome.shown
      let span = Stretch(start: timeline.firstDue, end: timeline.firstDue + length)
      let late = timeline.framesDue.count(where: \.isLate)
      lines.append(
        style.paint(outcome.name.padded(to: nameWidth), .strong)
          + style.paint(Picture.delays(of: timeline, over: span, columns: columns))
          + style.paint(" \(late) late", late > 0 ? .late : .onTime))
      guard !timeline.pieces.isEmpty else { continue }
      lines.append(
        "".padded(to: nameWidth)
          + style.paint(Picture.work(of: timeline, over: span, columns: columns)))
    }
    let scale = "The whole run, \(short(Double(length) / 1e9)) s"
    let key =
      style.paint("▁", .onTime) + " on time  "
      + style.paint("▄█", .late) + " late by ½, by 1 frame  "
      + style.paint("▒", .piece) + " pieces"
    return "\(scale): \(key)\n" + lines.joined(separator: "\n")
  }

  private var closeUps: String? {
    let frames = 8
    let columns = (style.width - nameWidth) / frames * frames
    var lines: [String] = []
    for outcome in results.outcomes {
      let timeline = outcome.shown
      let span = timeline.closeUp(frames: frames)
      if lines.isEmpty {
        lines.append(
          "".padded(to: nameWidth)
            + style.paint(Picture.ruler(of: timeline, over: span, columns: columns)))
      }
      lines.append(
        style.paint(outcome.name.padded(to: nameWidth), .strong)
          + style.paint(Picture.closeUp(of: timeline, over: span, columns: columns)))
    }
    let key =
      style.paint("█", .onTime) + " a frame  "
      + style.paint("!", .late) + " was due  "
      + style.paint("▓", .late) + " late  "
      + style.paint("▒░", .piece) + " pieces  "
      + style.paint("•", .input) + " input"
    return "Close up, \(frames) frames:  \(key)\n" + lines.joined(separator: "\n")
  }

  private var verdict: String? {
    guard let lulls = results.outcomes.first(where: { $0.name == "lulls" })?.figures else {
      return nil
    }
    let none = results.outcomes.first { $0.name == "none" }?.figures
    let peer = results.options.compare ? results.bestPeer : nil
    return style.wrapped(
      "lulls: work stood in the way of \(lulls.piecesInTheWay) of \(lulls.frames) frames; hitch "
        + "time \(short(lulls.hitchMsPerS)) ms/s"
        + (none.map { ", without any work \(short($0.hitchMsPerS)) ms/s" } ?? "")
        + (lulls.freeTimeUsed.map { "; \(percent($0)) of the free time was used" } ?? "") + "."
        + (peer.map {
          " The best of the others that finish within twice its time is \($0.name), with "
            + "\(short($0.hitchMsPerS)) ms/s."
        } ?? "") + (results.rounds > 1 ? allRounds(lulls, none) : ""))
  }

  /// What is rare does not show in a median.
  private func allRounds(_ lulls: Figures, _ none: Figures?) -> String {
    let (sums, other) = (lulls.allRounds, none?.allRounds)
    return " Of all \(results.rounds) rounds: in the way of \(sums.piecesInTheWay) of "
      + "\(grouped(sums.frames)) frames; late \(sums.lateFrames)"
      + (other.map { ", without any work \($0.lateFrames)" } ?? "") + "."
  }
}

extension Timeline {
  /// A short time that tells most: a little after the work was handed over, from a due time on.
  func closeUp(frames: Int) -> Stretch {
    let given = workGiven ?? firstDue + Demo.calm(period: period)
    // Where there is little work, all of it.
    let wanted = given + min(10 * period, ((workDone ?? end) - given) / 4)
    let steps = max(0, (wanted - firstDue) / max(1, period))
    let start = firstDue + steps * period
    return Stretch(start: start, end: start + Nanoseconds(frames) * period)
  }
}
