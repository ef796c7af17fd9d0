// SPDX-License-Identifier: Apache-2.0

/// A value to be printed as JSON. Objects keep the order of their members.
///
/// Our own, since Foundation's is the only other one and weighs more than the rest of the command.
enum JSON {
  case null
  case bool(Bool)
  case int(Int)
  /// Rounded to thousandths: a microsecond where the unit is a millisecond.
  case number(Double)
  case string(String)
  case array([JSON])
  case object([(String, JSON)])

  init(_ number: Double?) { self = number.map(JSON.number) ?? .null }

  /// The text, indented by two spaces a level.
  var text: String { text(indent: "") }

  private func text(indent: String) -> String {
    switch self {
    case .null: return "null"
    case .bool(let value): return value ? "true" : "false"
    case .int(let value): return String(value)
    case .number(let value):
      // JSON has no word for what is not finite.
      return value.isFinite ? decimal(value, places: 3, trimmed: true) : "null"
    case .string(let value): return Self.quoted(value)
    case .array(let values):
      return Self.lines(values.map { $0.text(indent: indent + "  ") }, "[", "]", indent)
    case .object(let members):
      let lines = members.map { Self.quoted($0) + ": " + $1.text(indent: indent + "  ") }
      return Self.lines(lines, "{", "}", indent)
    }
  }

  private static func lines(
    _ lines: [String], _ open: String, _ close: String, _ indent: String
  ) -> String {
    guard !lines.isEmpty else { return open + close }
    let inner = indent + "  "
    let body = lines.map { inner + $0 }.joined(separator: ",\n")
    return "\(open)\n\(body)\n\(indent)\(close)"
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20:
        result += "\\u" + String(scalar.value, radix: 16).padded(to: 4, right: true, with: "0")
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// A number with a fixed count of decimal places, which the standard library cannot print.
func decimal(_ value: Double, places: Int, trimmed: Bool = false) -> String {
  let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
  let scaled = (value * scale).rounded()
  // Beyond 2^53 a double has no decimals to lose.
  guard scaled.isFinite, abs(scaled) < 0x1p53 else { return String(value) }
  let whole = Int(scaled)
  var digits = String(whole.magnitude)
  digits = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
  var fraction = digits.suffix(places)
  if trimmed {
    while fraction.last == "0" { fraction.removeLast() }
  }
  let sign = whole < 0 ? "-" : ""
  return sign + digits.dropLast(places) + (fraction.isEmpty ? "" : ".\(fraction)")
}
