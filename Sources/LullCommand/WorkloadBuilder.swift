// SPDX-License-Identifier: Apache-2.0

/// What choosing a workload asks of the world. Tests have a world of their own.
protocol PieceTrial {
  /// Whether the file begins like text.
  mutating func isText(_ path: String) throws(SystemError) -> Bool
  /// Reads a part of a file once, so that it is in memory, then does the work of it and measures.
  mutating func run(
    _ path: String, _ piece: Piece
  ) throws(SystemError) -> (time: Nanoseconds, tally: Tally)
}

/// Chooses about two seconds of work from many files, by doing it.
///
/// Larger files go first and text before the rest: a small file makes a piece too short to be in
/// anybody's way, and counting words is for text. No file gives more than its share while others
/// wait, or one huge file would be all there is.
struct WorkloadBuilder<Trial: PieceTrial> {
  private typealias Source = (path: String, pieces: ArraySlice<Piece>)

  private let wanted: Nanoseconds
  private let progress: (Double) -> Void
  private var trial: Trial
  private var workload: Workload
  private var chosen: [(path: String, piece: Piece)] = []

  /// - Parameter progress: told how much of the work has been found.
  init(
    path: String, wanted: Nanoseconds = Workload.wanted, trial: Trial,
    progress: @escaping (Double) -> Void = { _ in }
  ) {
    workload = Workload(path: path)
    self.wanted = wanted
    self.trial = trial
    self.progress = progress
  }

  mutating func build(from candidates: [Candidate], leftOut: LeftOut) -> Workload {
    workload.leftOut = leftOut
    let bySize = candidates.sorted { ($1.size, $0.path) < ($0.size, $1.path) }
    workload.longestPiece = Cut.longest(costPerByte: costPerByte(bySize.prefix(8)))
    var rest: [Source] = []
    var binary: [Candidate] = []
    for file in bySize {
      takeShare(of: file, rest: &rest, binary: &binary)
    }
    for source in rest where !isFull {
      take(source, upTo: wanted)
    }
    for file in binary {
      if isEnough {
        workload.leftOut.add(.binary, file.path)
      } else {
        take((file.path, cut(file)[...]), upTo: wanted)
      }
    }
    order()
    return workload
  }

  /// Past this, nothing is taken any more.
  private var isFull: Bool { workload.workTime >= wanted }
  /// Past this, only the good ones are taken.
  private var isEnough: Bool { workload.workTime >= wanted / 2 }
  /// What takes well under a millisecond is small: a sixth of the longest piece.
  private var smallest: Int { workload.longestPiece / 6 }

  private func cut(_ file: Candidate) -> [Piece] {
    Cut.pieces(size: file.size, longest: workload.longestPiece)
  }

  /// The median over a few files, each at the better of two times: a machine that is disturbed for
  /// a moment only ever takes longer. An unreadable file is met again and reported then.
  private mutating func costPerByte(_ files: some Sequence<Candidate>) -> Double {
    var costs: [Double] = []
    for file in files {
      let piece = Piece(bytes: min(file.size, 64 << 10))
      guard let first = try? trial.run(file.path, piece), first.tally.bytes > 0,
        let second = try? trial.run(file.path, piece)
      else { continue }
      costs.append(Double(min(first.time, second.time)) / Double(first.tally.bytes))
    }
    return percentile(0.5, of: costs.sorted()) ?? 0
  }

  private mutating func takeShare(
    of file: Candidate, rest: inout [Source], binary: inout [Candidate]
  ) {
    if isFull { return workload.leftOut.add(.beyond, file.path) }
    if isEnough, file.size < smallest { return workload.leftOut.add(.small, file.path) }
    do {
      guard try trial.isText(file.path) else { return binary.append(file) }
    } catch {
      return workload.leftOut.add(.unreadable, file.path, because: "\(error)")
    }
    let share = min(wanted, workload.workTime + wanted / 8)
    let left = take((file.path, cut(file)[...]), upTo: share)
    if !left.pieces.isEmpty { rest.append(left) }
  }

  /// Runs pieces until there is so much work; returns what it did not take.
  @discardableResult
  private mutating func take(_ source: Source, upTo limit: Nanoseconds) -> Source {
    var source = source
    while workload.workTime < limit, let piece = source.pieces.popFirst() {
      do {
        let (time, tally) = try trial.run(source.path, piece)
        workload.workTime += time
        workload.tally.add(tally)
        chosen.append((source.path, piece))
      } catch {
        workload.leftOut.add(.unreadable, source.path, because: "\(error)")
        return (source.path, [])
      }
      progress(min(1, Double(workload.workTime) / Double(wanted)))
    }
    return source
  }

  /// By path and place: the order in which a program would go through a folder.
  private mutating func order() {
    chosen.sort { ($0.path, $0.piece.offset) < ($1.path, $1.piece.offset) }
    for (path, piece) in chosen {
      if workload.files.last != path { workload.files.append(path) }
      var piece = piece
      piece.file = workload.files.count - 1
      workload.pieces.append(piece)
    }
  }
}

/// The real world: files, and the thread's own clock, which does not run while others do.
struct FileTrial: PieceTrial {
  private var work = TextWork()
  private var buffer = [UInt8](repeating: 0, count: Workload.largestPiece)

  mutating func isText(_ path: String) throws(SystemError) -> Bool {
    let count = try Descriptor(reading: path).read(1024, at: 0, into: &buffer)
    return !buffer.prefix(count).contains(0)
  }

  mutating func run(
    _ path: String, _ piece: Piece
  ) throws(SystemError) -> (time: Nanoseconds, tally: Tally) {
    let warm = try Descriptor(reading: path)
    _ = try warm.read(piece.bytes, at: piece.offset, into: &buffer)
    let start = threadTime()
    let tally = try work.read(path, piece, buffer: &buffer)
    return (threadTime() - start, tally)
  }
}
