// SPDX-License-Identifier: Apache-2.0

/// What reading text came to.
///
/// Every strategy must end with the same tally, or it has not done the same work.
struct Tally: Equatable, Sendable {
  var bytes = 0
  var lines = 0
  var words = 0
  /// The exclusive or of the pieces' checksums, so that their order does not matter.
  var checksum: UInt32 = 0
  /// How often a word was seen, for words that were among the most frequent of some piece.
  ///
  /// Only those: one dictionary of all words would now and then be rehashed, and one unlucky piece
  /// would pay for all that came before it.
  var frequent: [String: Int] = [:]

  mutating func add(_ other: Tally) {
    bytes += other.bytes
    lines += other.lines
    words += other.words
    checksum ^= other.checksum
    frequent.merge(other.frequent, uniquingKeysWith: +)
  }

  /// The most frequent words, ties in alphabetical order.
  func top(_ count: Int) -> [(word: String, count: Int)] {
    let ranked = frequent.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
    return ranked.prefix(count).map { (word: $0.key, count: $0.value) }
  }
}

/// The work of a piece: a checksum, lines, words, and which words are the most frequent.
///
/// It is written as anybody would write it, with a dictionary of strings, since the pieces of a
/// real program are not hand-tuned either. Nothing here is bound to an actor: a closure made on the
/// main actor and handed to the standard library is checked at each call, and these are hot loops.
struct TextWork {
  /// How many words of a piece go into the tally.
  private static let kept = 16

  private var counts: [String: Int] = [:]

  /// Reads the first `count` bytes of `text`. ASCII letters are made small in place.
  mutating func read(_ text: inout [UInt8], count: Int) -> Tally {
    var tally = Tally()
    tally.bytes = count
    tally.checksum = CRC32.checksum(of: text.span.extracting(first: count))
    counts.removeAll(keepingCapacity: true)
    var start = -1
    for index in 0..<count {
      let byte = text[index]
      if byte == 0x0A { tally.lines += 1 }
      let small = byte | 0x20
      if small >= 0x61 && small <= 0x7A || byte >= 0x80 {
        if start < 0 { start = index }
        if byte < 0x80 { text[index] = small }
      } else if start >= 0 {
        see(text.span.extracting(start..<index))
        tally.words += 1
        start = -1
      }
    }
    if start >= 0 {
      see(text.span.extracting(start..<count))
      tally.words += 1
    }
    tally.frequent = mostFrequent()
    return tally
  }

  /// What is no UTF-8 or has no break is no word of a language: it is told from the others by
  /// nothing, so that binary data costs no more time and memory than text.
  ///
  /// Nor is a single letter: in code and tables it would be the most frequent of all.
  private mutating func see(_ word: Span<UInt8>) {
    guard word.count > 1 else { return }
    if word.count <= 64, let text = try? UTF8Span(validating: word) {
      counts[String(copying: text), default: 0] += 1
    } else {
      counts["", default: 0] += 1
    }
  }

  private func mostFrequent() -> [String: Int] {
    var best: [(word: String, count: Int)] = []
    for (word, count) in counts where !word.isEmpty {
      if best.count == Self.kept, let last = best.last, (count, last.word) < (last.count, word) {
        continue
      }
      let place = best.firstIndex { ($0.count, word) < (count, $0.word) } ?? best.count
      best.insert((word, count), at: place)
      if best.count > Self.kept { best.removeLast() }
    }
    return Dictionary(uniqueKeysWithValues: best.map { ($0.word, $0.count) })
  }
}

/// The checksum of zip and PNG.
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
    }
  }

  static func checksum(of bytes: Span<UInt8>) -> UInt32 {
    let table = table.span
    var value = ~UInt32(0)
    for index in bytes.indices {
      value = value >> 8 ^ table[Int(UInt8(truncatingIfNeeded: value) ^ bytes[index])]
    }
    return ~value
  }
}
