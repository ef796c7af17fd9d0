// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The results as a table: medians, and below them the least of all rounds.
func table(_ results: [Result]) -> String {
  let subjects = Subject.all.map(\.name)
  let name = (results.map(\.name.count).max() ?? 0) + 2
  let heads = subjects + ["best peer", "ratio", "goal", "to raw", "goal", ""]
  var lines = [
    left("", name) + left("unit", 8) + heads.map { right($0, 11) }.joined()
  ]
  for result in results {
    let medians = subjects.map { right(shown(result.median(of: $0)), 11) }.joined()
    let least = subjects.map { subject in
      right(shown(result.least.first { $0.subject == subject }?.figure), 11)
    }.joined()
    let goals = [
      result.bestPeer?.subject ?? "-", shown(result.ratioToBestPeer),
      shown(result.goalToBestPeer), shown(result.ratioToRaw), shown(result.goal.toRaw),
    ].map { right($0, 11) }.joined()
    let verdict = result.isMet.map { $0 ? "met" : "MISSED" } ?? ""
    let figure = result.goal.figure.map { " at most \(shown($0)) \(result.unit)" } ?? ""
    lines.append(
      left(result.name, name) + left(result.unit, 8) + medians + goals + right(verdict, 8) + figure)
    lines.append(left("", name) + left("least", 8) + least)
  }
  return lines.joined(separator: "\n") + "\n"
}

/// Three digits, or all of a large number.
private func shown(_ figure: Double?) -> String {
  guard let figure else { return "-" }
  if figure != 0, abs(figure) < 10 { return String(format: "%.2f", figure) }
  if figure != 0, abs(figure) < 100 { return String(format: "%.1f", figure) }
  return String(format: "%.0f", figure)
}

private func left(_ text: String, _ width: Int) -> String {
  text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
}

private func right(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(1, width - text.count)) + text
}

/// The results as one object.
func json(_ results: [Result]) throws -> String {
  let rows = results.map { result in
    Document.Workload(
      name: result.name, unit: result.unit,
      subjects: Dictionary(uniqueKeysWithValues: result.medians.map { ($0.subject, $0.figure) }),
      least: Dictionary(uniqueKeysWithValues: result.least.map { ($0.subject, $0.figure) }),
      bestPeer: result.bestPeer?.subject, ratioToBestPeer: result.ratioToBestPeer,
      goalToBestPeer: result.goalToBestPeer, ratioToRaw: result.ratioToRaw,
      goalToRaw: result.goal.toRaw, goal: result.goal.figure, isMet: result.isMet)
  }
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
  return String(decoding: try encoder.encode(Document(workloads: rows)), as: UTF8.self) + "\n"
}

private struct Document: Encodable {
  let workloads: [Workload]

  struct Workload: Encodable {
    let name, unit: String
    let subjects, least: [String: Double]
    let bestPeer: String?
    let ratioToBestPeer, goalToBestPeer, ratioToRaw, goalToRaw, goal: Double?
    let isMet: Bool?

    /// Written out, since what is missing shall be null and not left out.
    func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: Key.self)
      try values.encode(name, forKey: .name)
      try values.encode(unit, forKey: .unit)
      try values.encode(subjects, forKey: .subjects)
      try values.encode(least, forKey: .least)
      try values.encode(bestPeer, forKey: .bestPeer)
      try values.encode(ratioToBestPeer, forKey: .ratioToBestPeer)
      try values.encode(goalToBestPeer, forKey: .goalToBestPeer)
      try values.encode(ratioToRaw, forKey: .ratioToRaw)
      try values.encode(goalToRaw, forKey: .goalToRaw)
      try values.encode(goal, forKey: .goal)
      try values.encode(isMet, forKey: .isMet)
    }

    private enum Key: CodingKey {
      case name, unit, subjects, least, bestPeer, ratioToBestPeer, goalToBestPeer, ratioToRaw
      case goalToRaw, goal, isMet
    }
  }
}
