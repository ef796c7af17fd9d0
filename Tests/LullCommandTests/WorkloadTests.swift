// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LullCommand

/// A world of files that are made up: 10 ns a byte, unless a file says otherwise.
private struct MadeUpTrial: PieceTrial {
  var binary: Set<String> = []
  var unreadable: Set<String> = []
  var costPerByte = 10

  func isText(_ path: String) throws(SystemError) -> Bool {
    if unreadable.contains(path) { throw SystemError(code: EACCES) }
    return !binary.contains(path)
  }

  func run(
    _ path: String, _ piece: Piece
  ) throws(SystemError) -> (time: Nanoseconds, tally: Tally) {
    if unreadable.contains(path) { throw SystemError(code: EACCES) }
    var tally = Tally()
    tally.bytes = piece.bytes
    return (Nanoseconds(piece.bytes * costPerByte), tally)
  }
}

@Suite struct WorkloadTests {
  private func build(
    _ files: [(String, Int)], wanted: Nanoseconds = 100_000_000, trial: MadeUpTrial = MadeUpTrial()
  ) -> Workload {
    var builder = WorkloadBuilder(path: "/made/up", wanted: wanted, trial: trial)
    return builder.build(
      from: files.map { Candidate(path: $0, size: $1) }, leftOut: LeftOut())
  }

  @Test func `A small file is one piece`() {
    #expect(Cut.pieces(size: 1000, longest: 4096) == [Piece(bytes: 1000)])
    #expect(Cut.pieces(size: 4096, longest: 4096) == [Piece(bytes: 4096)])
  }

  @Test func `A large file is cut without a gap, the same way each time, into unlike pieces`() {
    let size = 10_000_019
    let pieces = Cut.pieces(size: size, longest: 256 << 10)
    var offset = 0
    for piece in pieces {
      #expect(piece.offset == offset)
      #expect(piece.bytes > 0 && piece.bytes <= 256 << 10)
      offset += piece.bytes
    }
    #expect(offset == size)
    #expect(Set(pieces.map(\.bytes)).count > 4)
    #expect(pieces == Cut.pieces(size: size, longest: 256 << 10))
  }

  @Test func `On a slow machine the longest piece takes five milliseconds`() {
    #expect(Cut.longest(costPerByte: 0) == 256 << 10)
    #expect(Cut.longest(costPerByte: 19) == 256 << 10)
    #expect(Cut.longest(costPerByte: 40) == 120 << 10)
    #expect(Cut.longest(costPerByte: 500) == 8 << 10)
    #expect(Cut.longest(costPerByte: 1e9) == 4 << 10)
  }

  @Test func `The work is cut to what is wanted`() {
    let workload = build((0..<1000).map { ("f\($0)", 200_000) })
    // 2 ms a file, 100 ms wanted.
    #expect(workload.pieces.count == 50)
    #expect(workload.workTime == 100_000_000)
    #expect(workload.bytes == 10_000_000)
    #expect(workload.tally.bytes == workload.bytes)
    #expect(workload.leftOut.count(.beyond) == 950)
  }

  @Test func `Pieces are in the order of paths and places, however they were chosen`() {
    let workload = build([("b", 100_000), ("a", 600_000), ("c", 200_000)])
    #expect(workload.files == ["a", "b", "c"])
    let order = workload.pieces.map { [$0.file, $0.offset] }
    #expect(order == order.sorted { $0.lexicographicallyPrecedes($1) })
    #expect(workload.bytes == 900_000)
  }

  @Test func `Small files are left out where the large ones are work enough`() {
    let workload = build([("large", 200_000)] + (0..<30).map { ("l\($0)", 190_000) } + [("s", 900)])
    #expect(workload.leftOut.count(.small) == 1)
    #expect(!workload.files.contains("s"))
    #expect(build([("s", 900)]).files == ["s"])
  }

  @Test func `One huge file does not crowd out the others`() {
    let workload = build([("huge", 1_000_000_000)] + (0..<60).map { ("f\($0)", 100_000) })
    #expect(workload.files.count > 50)
    // But it fills what they leave.
    #expect(workload.workTime >= 100_000_000)
    let alone = build([("huge", 1_000_000_000)])
    #expect(alone.workTime >= 100_000_000 && alone.files == ["huge"])
  }

  @Test func `Binary files are taken where there is no text, and named where there is`() {
    let files = (0..<80).map { ("f\($0)", 100_000) }
    let some = build(files + [("x.so", 250_000)], trial: MadeUpTrial(binary: ["x.so"]))
    #expect(!some.files.contains("x.so"))
    #expect(some.leftOut.count(.binary) == 1)
    #expect(build([("x.so", 250_000)], trial: MadeUpTrial(binary: ["x.so"])).files == ["x.so"])
  }

  @Test func `An unreadable file is left out and said, with the cause`() {
    let workload = build([("a", 100_000), ("b", 90_000)], trial: MadeUpTrial(unreadable: ["a"]))
    #expect(workload.files == ["b"])
    #expect(workload.leftOut.summary == "1 unreadable (a: Permission denied)")
  }

  @Test func `What was left out is told with its count, and an example of what may surprise`() {
    var leftOut = LeftOut()
    #expect(leftOut.summary == nil)
    leftOut.add(.link, "/l")
    leftOut.add(.fifo, "/p")
    leftOut.add(.unreadable, "/u", because: "Permission denied")
    leftOut.add(.unreadable, "/v", because: "Input/output error")
    #expect(
      leftOut.summary
        == "2 unreadable (as /u: Permission denied), 1 FIFO (/p), 1 symbolic link")
  }
}

@Suite struct TextWorkTests {
  private func read(_ text: [UInt8]) -> Tally {
    var work = TextWork()
    var buffer = text + [0xFF, 0xFF]
    return work.read(&buffer, count: text.count)
  }

  private func read(_ text: String) -> Tally { read(Array(text.utf8)) }

  @Test func `Lines, words and the most frequent of them are counted`() {
    let tally = read("The cat and the dog.\nAND the\u{A0}bird, über-the\n")
    #expect(tally.lines == 2)
    #expect(tally.words == 9)
    #expect(tally.frequent["the"] == 3)
    #expect(tally.frequent["and"] == 2)
    #expect(tally.frequent["über"] == 1)
    #expect(tally.top(2).map(\.word) == ["the", "and"])
  }

  @Test func `The checksum is that of zip`() {
    #expect(read("123456789").checksum == 0xCBF4_3926)
    #expect(read("").checksum == 0)
  }

  @Test func `What is no text is counted as one`() {
    let tally = read([0xC3, 0x28, 0xFF, 0xFE, 0x20, 0x61, 0x62, 0x20, 0x61])
    #expect(tally.words == 4)
    #expect(tally.frequent == ["ab": 1])
    #expect(read(Array(repeating: 0x61, count: 1000)).frequent == [:])
  }

  @Test func `Ties are told apart by the alphabet, so that a tally is the same each time`() {
    let words = ["a", "b"].flatMap { last in "abcdefghijklmnopqrst".map { "w\($0)\(last)" } }
    let tally = read(words.shuffled().joined(separator: " "))
    #expect(tally.frequent.count == 16)
    #expect(tally.frequent.keys.sorted() == Array(words.sorted().prefix(16)))
  }

  @Test func `Tallies add up in any order`() {
    let parts = ["one two two\n", "two three\n", "x"].map(read)
    var forward = Tally()
    var backward = Tally()
    parts.forEach { forward.add($0) }
    parts.reversed().forEach { backward.add($0) }
    #expect(forward == backward)
    #expect(forward.words == 6 && forward.lines == 2 && forward.frequent["two"] == 3)
  }
}
