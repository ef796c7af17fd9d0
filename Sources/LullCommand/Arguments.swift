// SPDX-License-Identifier: Apache-2.0

/// The caller's mistake: it is told what was wrong and what would be right, and exits with 2.
struct UsageError: Error, Equatable {
  var message: String
}

/// An option a verb takes. Its help line is written where it is declared, so that they agree.
struct Option: Sendable {
  /// With its dashes: `--seconds`.
  var name: String
  /// What its value is called in the help, nil for a switch.
  var value: String?
  var help: String
}

/// A verb's words, sorted into options and operands.
///
/// Strict on purpose: an option that is unknown, given twice, without its value or with one it does
/// not take is an error. A figure measured with an option that was silently dropped is worse than
/// none.
struct Arguments: Equatable {
  private(set) var operands: [String] = []
  private var values: [String: String] = [:]

  init(_ words: some Sequence<String>, taking options: [Option]) throws(UsageError) {
    var rest = Array(words)[...]
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        return
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      // `--name=value` is one word for the shell and two for us.
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      guard let option = options.first(where: { $0.name == name }) else {
        throw UsageError(unknown: name, "option", known: options.map(\.name))
      }
      guard values[name] == nil else {
        throw UsageError(message: "\(name) is given twice; give it once")
      }
      values[name] = try Self.value(of: option, inline: parts.dropFirst().first, rest: &rest)
    }
  }

  private static func value(
    of option: Option, inline: Substring?, rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    guard let called = option.value else {
      if let inline {
        throw UsageError(message: "\(option.name) takes no value; leave out '=\(inline)'")
      }
      return ""
    }
    if let inline { return String(inline) }
    // A value that begins with two dashes is far more often the next option; `=` still gives it.
    if let next = rest.first, !next.hasPrefix("--") {
      rest.removeFirst()
      return next
    }
    throw UsageError(message: "\(option.name) needs a value: \(option.name) \(called)")
  }

  func has(_ name: String) -> Bool { values[name] != nil }

  func text(_ name: String) throws(UsageError) -> String? {
    guard let text = values[name] else { return nil }
    guard !text.isEmpty else { throw UsageError(message: "\(name) is given an empty value") }
    return text
  }

  /// A number within `range`, or what it is if it is not given.
  func number<Number: LosslessStringConvertible & Comparable>(
    _ name: String, in range: ClosedRange<Number>, unit: String, or standard: Number
  ) throws(UsageError) -> Number {
    try number(name, in: range, unit: unit) ?? standard
  }

  /// A number within `range`; nil if it is not given.
  func number<Number: LosslessStringConvertible & Comparable>(
    _ name: String, in range: ClosedRange<Number>, unit: String
  ) throws(UsageError) -> Number? {
    guard let text = values[name] else { return nil }
    guard let number = Number(text), range.contains(number) else {
      let bounds = "\(bound(range.lowerBound)) to \(bound(range.upperBound))"
      throw UsageError(message: "\(name) is \(bounds) \(unit), not '\(text)'")
    }
    return number
  }

  /// Most bounds are whole numbers; as doubles they would read "1.0 to 600.0".
  private func bound(_ number: some LosslessStringConvertible) -> String {
    let text = String(number)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

extension UsageError {
  /// Says which known name was probably meant.
  init(unknown name: String, _ kind: String, known: [String]) {
    let near = known.map { (name: $0, distance: editDistance(name, $0)) }
      .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
    if let near, near.distance <= max(2, name.count / 3) {
      self.init(message: "unknown \(kind) '\(name)'; did you mean '\(near.name)'?")
    } else {
      self.init(message: "unknown \(kind) '\(name)'; known are \(known.joined(separator: ", "))")
    }
  }
}

/// How many letters must be put in, taken out or replaced to make one text of the other.
func editDistance(_ first: String, _ second: String) -> Int {
  let second = Array(second)
  var row = Array(0...second.count)
  for (index, letter) in first.enumerated() {
    var diagonal = row[0]
    row[0] = index + 1
    for column in second.indices {
      let kept = diagonal + (second[column] == letter ? 0 : 1)
      diagonal = row[column + 1]
      row[column + 1] = min(kept, row[column] + 1, diagonal + 1)
    }
  }
  return row[second.count]
}
