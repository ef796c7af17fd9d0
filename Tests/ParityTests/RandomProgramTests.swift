// SPDX-License-Identifier: Apache-2.0

import ParityKit
import Testing

@Suite struct `Random programs` {
  @Test func `do on Lull what its model says`() {
    for seed in UInt64(1)...3000 {
      let program = Program(seed: seed)
      let lull = LullLoop.trace(of: program).trace
      let model = ModelRun.trace(of: program)
      guard lull != model else { continue }
      let small = program.shrunk { LullLoop.trace(of: $0).trace != ModelRun.trace(of: $0) }
      let lines = zipped(LullLoop.trace(of: small).trace, ModelRun.trace(of: small))
      Issue.record("seed \(seed): \(small)\n\(lines)")
      return
    }
  }

  private func zipped(_ left: [String], _ right: [String]) -> String {
    (0..<max(left.count, right.count)).map { index in
      let first = index < left.count ? left[index] : ""
      let second = index < right.count ? right[index] : ""
      let gap = String(repeating: " ", count: max(1, 40 - first.count))
      return first + gap + second + (first == second ? "" : "   <-")
    }.joined(separator: "\n")
  }
}

enum ModelRun {
  static func trace(of program: Program) -> [String] {
    Interpreter.run(
      program,
      on: { Model($0, $1, differences: Set(Difference.allCases).subtracting([.commonIsNoMode])) }
    ).trace
  }
}
