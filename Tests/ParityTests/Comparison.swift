// SPDX-License-Identifier: Apache-2.0

import ParityKit

/// What one program does on CFRunLoop, on Lull, and on the model of each.
struct Comparison {
  let cf: String
  let cfModel: String
  let lull: String
  let lullModel: String
  /// Where Lull's model did otherwise than CF's, on purpose.
  let uses: [Difference: Int]
  let coverage: Coverage

  /// Carries a program out on all but CFRunLoop, whose trace is given.
  init(_ program: Program, cf: String) {
    self.cf = cf
    cfModel = Comparison.model(program, []).trace
    (lullModel, uses) = Comparison.model(program, Set(Difference.allCases))
    let run = LullLoop.trace(of: program)
    lull = run.trace.joined(separator: Comparison.separator)
    coverage = run.coverage
  }

  static let separator = " | "

  /// What stands between the traces and full agreement; nil when nothing does.
  var complaint: String? {
    if cf != cfModel { return "CFRunLoop does not do what its model says" }
    if lull != lullModel { return "Lull does not do what its model says" }
    if cf != lull && uses.isEmpty { return "Lull differs and no difference was declared" }
    return nil
  }

  /// The three traces side by side.
  var table: String {
    let columns = [cf, lull, lullModel].map { $0.split(separator: "|").map { "\($0)".trimmed } }
    var lines = [row(["CFRunLoop", "Lull", "Lull's model"])]
    for index in 0..<columns.map(\.count).max()! {
      let events = columns.map { index < $0.count ? $0[index] : "" }
      lines.append(row(events) + (events[1] == events[2] ? "" : "   <- Lull and its model"))
    }
    lines.append("differences: \(uses.keys.map(\.name).sorted().joined(separator: ", "))")
    return lines.joined(separator: "\n")
  }

  private func row(_ cells: [String]) -> String {
    cells.map { $0 + String(repeating: " ", count: max(1, 36 - $0.count)) }.joined()
  }

  private static func model(
    _ program: Program, _ differences: Set<Difference>
  ) -> (trace: String, uses: [Difference: Int]) {
    var uses: [Difference: Int] = [:]
    let trace = Interpreter.run(
      program, on: { Model($0, $1, differences: differences) }, finish: { uses = $0.uses }
    ).trace
    return (trace.joined(separator: separator), uses)
  }
}

extension String {
  /// Without spaces at either end.
  fileprivate var trimmed: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
