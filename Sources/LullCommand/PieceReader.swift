// SPDX-License-Identifier: Apache-2.0

/// What is done in one go on the main thread: a file or a part of one to be read, or a time to be
/// kept busy.
struct Piece: Equatable, Sendable {
  /// An index into the workload's files.
  var file = 0
  var offset = 0
  var bytes: Int
  /// The processor time of a made-up piece, which reads nothing; nil for a part of a file.
  var cost: Nanoseconds?

  /// What its time is learned by: made-up pieces are all alike.
  var weight: Int { cost == nil ? bytes : 1 }
}

extension Piece {
  static func synthetic(_ cost: Nanoseconds) -> Piece { Piece(bytes: 0, cost: cost) }
}

/// Does the work of pieces and keeps what it came to.
///
/// Confined to the thread that made it.
final class PieceReader {
  private(set) var tally = Tally()
  /// Pieces whose file could not be read any more.
  private(set) var failures = 0

  private let files: [String]
  private var work = TextWork()
  private var buffer: [UInt8]

  init(files: [String], longestPiece: Int) {
    self.files = files
    buffer = [UInt8](repeating: 0, count: longestPiece)
  }

  func run(_ piece: Piece) {
    if let cost = piece.cost {
      _ = burn(cost)
      return
    }
    do {
      tally.add(try work.read(files[piece.file], piece, buffer: &buffer))
    } catch {
      failures += 1
    }
  }
}

extension TextWork {
  /// Does the work of a piece. Its file is opened for it and closed after it, as by a program that
  /// reads a file when its turn comes.
  mutating func read(
    _ path: String, _ piece: Piece, buffer: inout [UInt8]
  ) throws(SystemError) -> Tally {
    let file = try Descriptor(reading: path)
    return read(&buffer, count: try file.read(piece.bytes, at: piece.offset, into: &buffer))
  }
}
