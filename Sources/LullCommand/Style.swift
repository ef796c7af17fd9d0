// SPDX-License-Identifier: Apache-2.0
import Glibc

/// How text is set on a terminal: in colour or not, and how wide.
struct Style: Equatable, Sendable {
  var isColored = false
  var width = 80

  enum Color: String, Sendable {
    case onTime = "32"
    case late = "1;31"
    case piece = "33"
    case input = "35"
    case faint = "2"
    case strong = "1"
  }

  /// As standard output wants it. `NO_COLOR` is honoured, as is a terminal that can do nothing.
  static func standardOutput() -> Style {
    guard isTerminal(STDOUT_FILENO) else { return Style() }
    let isPlain = environment("NO_COLOR").map { !$0.isEmpty } ?? false
    return Style(
      isColored: !isPlain && environment("TERM") != "dumb",
      width: max(60, min(terminalWidth(STDOUT_FILENO) ?? 80, 200)))
  }

  func paint(_ text: String, _ color: Color?) -> String {
    guard isColored, let color, !text.isEmpty else { return text }
    return "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m"
  }

  /// Cells of a line, with one colour code for each run of like ones.
  func paint(_ cells: [Cell]) -> String {
    var result = ""
    var rest = cells[...]
    while let first = rest.first {
      let run = rest.prefix { $0.color == first.color }
      result += paint(String(run.map(\.glyph)), first.color)
      rest = rest.dropFirst(run.count)
    }
    return result
  }

  /// Breaks text between words.
  func wrapped(_ text: String) -> String {
    var lines = [""]
    for word in text.split(separator: " ") {
      if lines[lines.count - 1].isEmpty {
        lines[lines.count - 1] = String(word)
      } else if lines[lines.count - 1].count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines.joined(separator: "\n")
  }
}

extension String {
  /// Without control characters: a file's name may hold any, and a terminal obeys them.
  var printable: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
  }
}

/// A character of a picture.
struct Cell: Equatable, Sendable {
  var glyph: Character
  var color: Style.Color?
}
