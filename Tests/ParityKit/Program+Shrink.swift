// SPDX-License-Identifier: Apache-2.0

extension Program {
  /// The smallest program found for which something still holds, by leaving out whole scripts and
  /// then single operations until nothing more can go.
  package func shrunk(while holds: (Program) -> Bool) -> Program {
    var best = self
    var shrinks = true
    while shrinks {
      shrinks = false
      for trigger in best.scripts.keys.sorted() {
        shrinks = best.replace(with: { $0.scripts[trigger] = nil }, if: holds) || shrinks
      }
      var index = 0
      while index < best.opCount {
        if best.replace(with: { $0.removeOp(at: index) }, if: holds) {
          shrinks = true
        } else {
          index += 1
        }
      }
    }
    _ = best.replace(with: { $0.trimScripts() }, if: holds)
    return best
  }

  /// Changes the program, unless that makes something no longer hold.
  private mutating func replace(
    with change: (inout Program) -> Void, if holds: (Program) -> Bool
  ) -> Bool {
    var candidate = self
    change(&candidate)
    guard candidate != self, holds(candidate) else { return false }
    self = candidate
    return true
  }

  /// The number of operations, those in blocks included.
  package var opCount: Int {
    Self.count(top) + scripts.values.reduce(0) { $0 + $1.reduce(0) { $0 + Self.count($1) } }
  }

  private static func count(_ ops: [Op]) -> Int {
    ops.reduce(0) { sum, op in
      if case .perform(_, let body) = op { sum + 1 + count(body) } else { sum + 1 }
    }
  }

  private mutating func removeOp(at index: Int) {
    var left = index
    Self.remove(&left, from: &top)
    for trigger in scripts.keys.sorted() {
      guard var script = scripts[trigger] else { continue }
      for invocation in script.indices { Self.remove(&left, from: &script[invocation]) }
      scripts[trigger] = script
    }
  }

  /// Counts down over the operations and takes out the one that is met at zero.
  private static func remove(_ left: inout Int, from ops: inout [Op]) {
    var index = 0
    while index < ops.count && left >= 0 {
      if left == 0 {
        ops.remove(at: index)
        left = -1
        return
      }
      left -= 1
      if case .perform(let modes, var body) = ops[index] {
        remove(&left, from: &body)
        ops[index] = .perform(modes, body)
      }
      index += 1
    }
  }

  private mutating func trimScripts() {
    for (trigger, script) in scripts {
      var trimmed = script
      while trimmed.last?.isEmpty == true { trimmed.removeLast() }
      scripts[trigger] = trimmed.isEmpty ? nil : trimmed
    }
  }
}
