// SPDX-License-Identifier: Apache-2.0

/// What one strategy did to the frames and to the input, in figures.
///
/// All of them are computed from a `Timeline` and from nothing else, and the picture is drawn from
/// the same one, so that what the table says can be counted in the picture.
struct Figures: Equatable, Sendable {
  /// How far into a piece a due time must be for the piece to have been in the frame's way.
  static let inTheWay: Nanoseconds = 200_000

  var name: String
  /// Frames that were due, whether or not they were shown.
  var frames: Int
  var lateFrames: Int
  /// Due times that a piece ran over.
  var piecesInTheWay: Int
  var worstDelayMs: Double
  /// The delays of all late frames, by the length of the run: milliseconds per second.
  var hitchMsPerS: Double
  var inputP50Ms: Double?
  var inputP99Ms: Double?
  var inputWorstMs: Double?
  var pieces: Int
  /// The sum of the pieces' times.
  var workMs: Double
  /// From when the work was handed over to the end of the last piece; nil when it was cut off.
  var finishedMs: Double?
  /// The pieces' time by the time, with work left, that neither frames nor input took.
  var freeTimeUsed: Double?
  var runQueueDelayMsPerS: Double
  var stolenMsPerS: Double
  var pieceP50Ms: Double?
  var longestPieceMs: Double
  /// Of all rounds together, where the others are medians: what is rare does not show in a median.
  var allRounds: Sums

  struct Sums: Equatable, Sendable {
    var frames = 0
    var lateFrames = 0
    var piecesInTheWay = 0
  }

  /// Whether work was handed over, even if none of it was done.
  var hasWork: Bool { pieces > 0 || freeTimeUsed != nil }
}

extension Figures {
  init(name: String, timeline: Timeline) {
    let due = timeline.framesDue
    let late = due.filter(\.isLate)
    let seconds = Double(timeline.span.length) / 1e9
    let latencies = timeline.input.map(\.latency).sorted()
    self.name = name
    frames = due.count
    lateFrames = late.count
    piecesInTheWay = timeline.piecesInTheWay(of: due)
    worstDelayMs = milliseconds(due.map(\.delay).max() ?? 0)
    hitchMsPerS = seconds > 0 ? milliseconds(late.reduce(0) { $0 + $1.delay }) / seconds : 0
    inputP50Ms = percentile(0.50, of: latencies).map(milliseconds)
    inputP99Ms = percentile(0.99, of: latencies).map(milliseconds)
    inputWorstMs = latencies.last.map(milliseconds)
    allRounds = Sums(frames: frames, lateFrames: lateFrames, piecesInTheWay: piecesInTheWay)
    pieces = timeline.pieces.count
    workMs = milliseconds(timeline.pieces.reduce(0) { $0 + $1.length })
    pieceP50Ms = percentile(0.50, of: timeline.pieces.map(\.length).sorted()).map(milliseconds)
    longestPieceMs = milliseconds(timeline.pieces.map(\.length).max() ?? 0)
    freeTimeUsed = timeline.freeTimeUsed
    runQueueDelayMsPerS = seconds > 0 ? milliseconds(timeline.runQueueDelay) / seconds : 0
    stolenMsPerS = seconds > 0 ? milliseconds(timeline.stolen) / seconds : 0
    if let given = timeline.workGiven, let done = timeline.workDone {
      finishedMs = milliseconds(done - given)
    }
  }
}

extension Timeline {
  /// How many due times a piece ran over: it had begun by then and went on for a while.
  func piecesInTheWay(of framesDue: [FrameDue]) -> Int {
    var count = 0
    var next = 0
    for due in framesDue.map(\.due) {
      while next < pieces.count, pieces[next].end <= due { next += 1 }
      guard next < pieces.count else { break }
      if pieces[next].start <= due, pieces[next].end - due > Figures.inTheWay { count += 1 }
    }
    return count
  }

  /// Nil when there was no work, or no time for it.
  var freeTimeUsed: Double? {
    guard let workGiven else { return nil }
    let span = Stretch(start: workGiven, end: workDone ?? end)
    let taken =
      frames.reduce(0) { $0 + $1.overlap(span) }
      + input.reduce(0) { $0 + $1.handling.overlap(span) }
    let free = span.length - taken
    return free > 0 ? Double(pieces.reduce(0) { $0 + $1.overlap(span) }) / Double(free) : nil
  }
}

func milliseconds(_ time: Nanoseconds) -> Double { Double(time) / 1e6 }

/// The value below or at which `share` of the sorted values lie: always one that was measured.
func percentile<Value>(_ share: Double, of sorted: [Value]) -> Value? {
  guard !sorted.isEmpty else { return nil }
  let rank = (share * Double(sorted.count)).rounded(.up)
  return sorted[min(max(Int(rank) - 1, 0), sorted.count - 1)]
}

extension Figures {
  /// The median of each figure by itself, over the rounds of one strategy.
  ///
  /// Of an even number of rounds it is the lower one, so that counts stay counts. A round that was
  /// cut off counts as one that took longest.
  static func median(of rounds: [Figures]) -> Figures? {
    guard var result = rounds.first else { return nil }
    func median<Value: Comparable>(_ figure: KeyPath<Figures, Value>) -> Value {
      rounds.map { $0[keyPath: figure] }.sorted()[(rounds.count - 1) / 2]
    }
    func median(_ figure: KeyPath<Figures, Double?>) -> Double? {
      let values = rounds.map { $0[keyPath: figure] ?? .infinity }.sorted()
      let value = values[(values.count - 1) / 2]
      return value.isFinite ? value : nil
    }
    result.frames = median(\.frames)
    result.lateFrames = median(\.lateFrames)
    result.piecesInTheWay = median(\.piecesInTheWay)
    result.worstDelayMs = median(\.worstDelayMs)
    result.hitchMsPerS = median(\.hitchMsPerS)
    result.inputP50Ms = median(\.inputP50Ms)
    result.inputP99Ms = median(\.inputP99Ms)
    result.inputWorstMs = median(\.inputWorstMs)
    result.pieces = median(\.pieces)
    result.workMs = median(\.workMs)
    result.finishedMs = median(\.finishedMs)
    result.freeTimeUsed = median(\.freeTimeUsed)
    result.runQueueDelayMsPerS = median(\.runQueueDelayMsPerS)
    result.stolenMsPerS = median(\.stolenMsPerS)
    result.pieceP50Ms = median(\.pieceP50Ms)
    result.longestPieceMs = median(\.longestPieceMs)
    result.allRounds = rounds.reduce(into: Sums()) { sums, round in
      sums.frames += round.allRounds.frames
      sums.lateFrames += round.allRounds.lateFrames
      sums.piecesInTheWay += round.allRounds.piecesInTheWay
    }
    return result
  }

  var json: JSON {
    .object([
      ("name", .string(name)),
      ("frames", .int(frames)),
      ("lateFrames", .int(lateFrames)),
      ("piecesInTheWay", .int(piecesInTheWay)),
      ("worstDelayMs", .number(worstDelayMs)),
      ("hitchMsPerS", .number(hitchMsPerS)),
      ("inputP50Ms", JSON(inputP50Ms)),
      ("inputP99Ms", JSON(inputP99Ms)),
      ("inputWorstMs", JSON(inputWorstMs)),
      ("pieces", .int(pieces)),
      ("workMs", .number(workMs)),
      ("pieceP50Ms", JSON(pieceP50Ms)),
      ("longestPieceMs", .number(longestPieceMs)),
      ("finishedMs", JSON(finishedMs)),
      ("freeTimeUsed", JSON(freeTimeUsed)),
      ("runQueueDelayMsPerS", .number(runQueueDelayMsPerS)),
      ("stolenMsPerS", .number(stolenMsPerS)),
      (
        "allRounds",
        .object([
          ("frames", .int(allRounds.frames)),
          ("lateFrames", .int(allRounds.lateFrames)),
          ("piecesInTheWay", .int(allRounds.piecesInTheWay)),
        ])
      ),
    ])
  }
}
