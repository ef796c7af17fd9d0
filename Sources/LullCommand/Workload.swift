// SPDX-License-Identifier: Apache-2.0

/// The pieces that every strategy runs, and what they came to when they were run first.
struct Workload: Sendable {
  /// What was asked for, or the standard folder that was taken; empty where pieces are made up.
  var path: String
  var files: [String] = []
  /// By path, and by place within a file.
  var pieces: [Piece] = []
  var leftOut = LeftOut()
  var tally = Tally()
  /// What the pieces took when they were run one after the other.
  var workTime: Nanoseconds = 0
  /// No piece is longer than this many bytes.
  var longestPiece = Workload.largestPiece
  /// What each piece costs where they are made up; nil where files are read.
  var pieceCost: Nanoseconds?

  var bytes: Int { pieces.reduce(0) { $0 + $1.bytes } }

  /// The most a piece may be, on a machine that is fast enough.
  static let largestPiece = 256 << 10
  /// How long the whole workload should take, all at once.
  static let wanted: Nanoseconds = 2_000_000_000
}

extension Workload {
  /// Pieces that read nothing and take a time that is known, to measure by.
  static func synthetic(pieces count: Int, cost: Nanoseconds) -> Workload {
    var workload = Workload(path: "")
    workload.pieces = Array(repeating: .synthetic(cost), count: count)
    workload.workTime = Nanoseconds(count) * cost
    workload.pieceCost = cost
    return workload
  }
}

/// How a file is cut into pieces.
enum Cut {
  /// Pieces of a file longer than `longest` are of unlike lengths, a quarter of it to all of it and
  /// mostly short, as work in a real program is. The same file is always cut the same way.
  static func pieces(size: Int, longest: Int) -> [Piece] {
    guard size > longest else { return [Piece(bytes: size)] }
    var random = SplitMix64(seed: UInt64(size))
    var result: [Piece] = []
    var offset = 0
    while offset < size {
      let chance = random.nextUnit()
      let square = chance * chance
      let share = 0.25 + 0.75 * square * square * square
      var bytes = min(max(1, Int(Double(longest) * share)), size - offset)
      // A scrap at the end is no piece of its own.
      if size - offset <= longest, size - offset - bytes < longest / 5 { bytes = size - offset }
      result.append(Piece(offset: offset, bytes: bytes))
      offset += bytes
    }
    return result
  }

  /// The longest piece that takes about 5 ms at this cost of a byte.
  ///
  /// 256 KiB where that is fast enough. On a slower machine or in a debug build it would be longer
  /// than the time between two frames, and then no strategy could be told from another.
  static func longest(costPerByte: Double) -> Int {
    let unit = 4 << 10
    let bytes = costPerByte > 0 ? 5_000_000 / costPerByte : .infinity
    guard bytes < Double(Workload.largestPiece) else { return Workload.largestPiece }
    return max(1, Int(bytes) / unit) * unit
  }
}

/// A small generator that gives the same numbers everywhere for the same seed.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  /// Above 0 and at most 1, so that its logarithm is finite.
  mutating func nextUnit() -> Double { Double(next() >> 11 + 1) * 0x1p-53 }
}
