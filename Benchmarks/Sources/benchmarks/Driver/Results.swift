// SPDX-License-Identifier: Apache-2.0

/// All that was measured, and what went wrong.
struct Figures {
  var failures: [String] = []
  /// By workload, subject and row, a figure a round.
  private var all: [String: [String: [[Double]]]] = [:]

  mutating func add(_ figures: [Double], of workload: Workload, _ subject: String) {
    let none: [[Double]] = workload.rows.map { _ in [] }
    for (row, figure) in figures.enumerated() {
      all[workload.name, default: [:]][subject, default: none][row].append(figure)
    }
  }

  func result(_ workload: Workload, _ row: Int) -> Result {
    let measured = all[workload.name] ?? [:]
    var result = Result(name: workload.rowNames[row], unit: workload.rows[row].unit)
    for subject in Subject.all {
      guard let figures = measured[subject.name]?[row] else { continue }
      result.medians.append((subject.name, median(figures)))
      result.least.append((subject.name, figures.min()!))
    }
    result.goal = Goal.row(result.name)
    if result.goal.ofSteadyPeers {
      result.unsteady = Set(
        measured.filter { median($0.value[2]) >= median($0.value[1]) }.map(\.key))
    }
    return result
  }
}

/// A row of the table.
struct Result {
  let name: String
  let unit: String
  var medians: [(subject: String, figure: Double)] = []
  var least: [(subject: String, figure: Double)] = []
  var goal = Goal()
  /// Peers that do not count.
  var unsteady: Set<String> = []

  init(name: String, unit: String) {
    self.name = name
    self.unit = unit
  }

  func median(of subject: String) -> Double? { medians.first { $0.subject == subject }?.figure }

  /// The best of the peers, or the one that the goal names.
  var bestPeer: (subject: String, figure: Double)? {
    if let named = goal.named { return medians.first { $0.subject == named } }
    return medians.filter {
      $0.subject != "raw" && $0.subject != "Lull" && !unsteady.contains($0.subject)
    }.min { $0.figure < $1.figure }
  }

  var ratioToBestPeer: Double? { ratio("Lull", to: bestPeer?.figure) }
  var ratioToRaw: Double? { ratio("Lull", to: median(of: "raw")) }

  var goalToBestPeer: Double? {
    guard let goal = goal.toPeer else { return nil }
    guard let slack = self.goal.slackToRawsRatio, let raws = ratio("raw", to: bestPeer?.figure)
    else { return goal }
    return max(goal, raws + slack)
  }

  private func ratio(_ subject: String, to other: Double?) -> Double? {
    guard let figure = median(of: subject), let other, other > 0 else { return nil }
    return figure / other
  }

  /// Whether all goals are met; nil if there is none, or nothing of ours to judge.
  var isMet: Bool? {
    let ours = median(of: "Lull")
    let pairs = [
      (ratioToBestPeer, goalToBestPeer), (ratioToRaw, goal.toRaw), (ours, goal.figure),
    ]
    let judged = pairs.compactMap { figure, goal in
      figure.flatMap { figure in goal.map { figure <= $0 } }
    }
    return judged.isEmpty ? nil : judged.allSatisfy { $0 }
  }
}

func median(_ figures: [Double]) -> Double {
  let sorted = figures.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
