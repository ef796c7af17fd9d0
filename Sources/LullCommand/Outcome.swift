// SPDX-License-Identifier: Apache-2.0

/// What one strategy came to, over all rounds.
struct Outcome: Sendable {
  var name: String
  /// What it does, in a few words.
  var summary: String
  /// One for each round; at least one.
  var rounds: [Timeline]

  /// Each figure by itself, as the median over the rounds.
  var figures: Figures {
    Figures.median(of: rounds.map { Figures(name: name, timeline: $0) })!
  }

  /// The round that is drawn: the one whose hitch time is the median's.
  var shown: Timeline {
    let ranked = rounds.map { (Figures(name: name, timeline: $0).hitchMsPerS, $0) }
      .sorted { $0.0 < $1.0 }
    return ranked[(ranked.count - 1) / 2].1
  }
}

/// All that a run of the demo has to say.
struct Results: Sendable {
  var workload: Workload
  var options: DemoOptions
  var outcomes: [Outcome]
  var absent: [Cast.Absent] = []
  /// What the reader should know: what was left out, what went wrong.
  var notes: [String] = []

  var rounds: Int { outcomes.first?.rounds.count ?? 0 }

  /// The rule of others with the least hitch time, of those that finish within twice the time of
  /// ours: what is smooth because it takes for ever is no peer.
  var bestPeer: Figures? {
    let figures = outcomes.map(\.figures)
    guard let ours = figures.first(where: { $0.name == Lulls().name })?.finishedMs else {
      return nil
    }
    return figures.filter { $0.name != Lulls().name && ($0.finishedMs ?? .infinity) <= 2 * ours }
      .min { $0.hitchMsPerS < $1.hitchMsPerS }
  }

  /// What was asked for, then the figures of each strategy, then what is to be known of them.
  ///
  /// - `path`: what was read; null where pieces were made up, with no files and no bytes.
  /// - `pieces`: how many pieces each strategy was given; its own `pieces` are those that it did.
  /// - `pieceCostMs`: the processor time of a made-up piece; null where files were read.
  /// - `hz`, `framePeriodMs`, `frameCostMs`: how often a frame was due, and its processor time.
  /// - `rounds`: how often each strategy ran; its figures are medians, but for `allRounds`, which
  ///   are the sums.
  /// - `absent`: strategies that cannot be played here, each with the reason.
  /// - `bestPeer`: of the other strategies that finish within twice the time of lulls, the one with
  ///   the least hitch time; null where there is none.
  var json: JSON {
    .object([
      ("path", workload.pieceCost == nil ? .string(workload.path) : .null),
      ("files", .int(workload.files.count)),
      ("bytes", .int(workload.bytes)),
      ("pieces", .int(workload.pieces.count)),
      ("pieceCostMs", JSON(workload.pieceCost.map(milliseconds))),
      ("hz", .number(options.hz)),
      ("framePeriodMs", .number(milliseconds(options.period))),
      ("frameCostMs", .number(options.frameCost)),
      ("rounds", .int(rounds)),
      ("strategies", .array(outcomes.map(\.figures.json))),
      ("absent", .array(absent.map(\.json))),
      ("bestPeer", bestPeer.map { .string($0.name) } ?? .null),
      ("notes", .array(notes.map(JSON.string))),
    ])
  }

  /// What the work is called for short.
  var title: String { workload.pieceCost == nil ? workload.path : "made-up pieces" }

  /// What was done, in the words that stand above the table and the picture.
  var headline: String {
    func count(_ number: Int, _ name: String) -> String {
      "\(grouped(number)) \(name)\(number == 1 ? "" : "s")"
    }
    let path = workload.path.printable
    let isFile = workload.files == [workload.path]
    let time = milliseconds(workload.workTime)
    let pieces = count(workload.pieces.count, "piece")
    let what =
      if let cost = workload.pieceCost {
        "\(pieces) of \(decimal(milliseconds(cost), places: 2, trimmed: true)) ms, made up: "
      } else {
        (isFile ? path : "\(count(workload.files.count, "file")) of \(path)")
          + ", \(megabytes(workload.bytes)), in \(pieces): "
      }
    return what + (time < 100 ? "\(short(time)) ms" : "\(decimal(time / 1000, places: 2)) s")
      + " of work."
  }

  /// What the work found, so that it can be seen to be work; nil where it looked for nothing.
  var findings: String? {
    guard workload.pieceCost == nil else { return nil }
    let words = workload.tally.top(6).map { "\($0.word) \(grouped($0.count))" }
    return "\(grouped(workload.tally.lines)) lines, \(grouped(workload.tally.words)) words"
      + (words.isEmpty ? "." : "; most frequent: \(words.joined(separator: ", ")).")
  }
}

extension Cast.Absent {
  fileprivate var json: JSON {
    .object([("name", .string(name)), ("reason", .string(reason))])
  }
}

/// 1234567 as "1,234,567".
func grouped(_ number: Int) -> String {
  var result = ""
  for (index, digit) in String(number.magnitude).reversed().enumerated() {
    if index > 0, index % 3 == 0 { result.append(",") }
    result.append(digit)
  }
  return (number < 0 ? "-" : "") + String(result.reversed())
}

func megabytes(_ bytes: Int) -> String {
  let (scale, unit) = bytes < 1_000_000 ? (1e3, "kB") : (1e6, "MB")
  return "\(decimal(Double(bytes) / scale, places: 1)) \(unit)"
}

func percent(_ share: Double) -> String { decimal(share * 100, places: 0) + "%" }

/// Three digits or so: what a reader can take in.
func short(_ value: Double?) -> String {
  guard let value else { return "–" }
  return decimal(value, places: abs(value) < 99.95 ? 1 : 0)
}
