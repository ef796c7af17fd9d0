// SPDX-License-Identifier: Apache-2.0

/// How often each operation was carried out in each context. A cell that stays zero says that the
/// generator never asks the question.
package struct Coverage: Sendable {
  private var counts: [String: [Context: Int]] = [:]

  /// Nothing yet.
  package init() {}

  /// Counts one operation.
  package mutating func count(_ op: Op, in context: Context) {
    counts[op.name, default: [:]][context, default: 0] += 1
  }

  /// Adds another's counts.
  package mutating func add(_ other: Coverage) {
    for (name, row) in other.counts {
      for (context, count) in row { counts[name, default: [:]][context, default: 0] += count }
    }
  }

  /// The count of one cell.
  package func count(_ name: String, _ context: Context) -> Int { counts[name]?[context] ?? 0 }

  /// The cells that were never reached.
  package var missing: [String] { cells(below: 1) }

  /// The cells with less than so much, each with its count.
  package func cells(below least: Int) -> [String] {
    Op.names.flatMap { name in
      Context.all.filter { count(name, $0) < least }.map { "\(name) in \($0): \(count(name, $0))" }
    }
  }

  /// A table: a row for each operation, a column for each context.
  package var table: String {
    let columns = Context.all.map(\.description)
    func padded(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(1, width - text.count)) + text
    }
    var lines = [padded("", 10) + columns.map { padded($0, 14) }.joined()]
    for name in Op.names {
      let cells = Context.all.map { padded("\(count(name, $0))", 14) }
      lines.append(padded(name, 10) + cells.joined())
    }
    return lines.joined(separator: "\n")
  }
}
