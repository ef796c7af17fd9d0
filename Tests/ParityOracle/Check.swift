// SPDX-License-Identifier: Apache-2.0

import Foundation
import ParityKit

/// Compares the model without differences with CFRunLoop on random programs, until one differs.
///
/// Says how much was covered, and how often each difference mattered in Lull's model.
func check(seeds: Range<UInt64>) -> Bool {
  let start = Date()
  var coverage = Coverage()
  var uses: [Difference: Int] = [:]
  var programsThatDiffer = 0
  for seed in seeds {
    let program = Program(seed: seed)
    let cf = CFRun.trace(of: program)
    let model = trace(of: program, differences: [])
    guard cf.trace == model.trace else {
      print("seed \(seed) differs")
      show(program.shrunk { CFRun.trace(of: $0).trace != trace(of: $0, differences: []).trace })
      return false
    }
    coverage.add(cf.coverage)
    let lull = trace(of: program, differences: Set(Difference.allCases))
    for difference in lull.uses.keys { uses[difference, default: 0] += 1 }
    if !lull.uses.isEmpty { programsThatDiffer += 1 }
    let alone = Difference(rawValue: Int(seed % UInt64(Difference.allCases.count)))!
    if !isNoted(alone, on: program, unless: cf.trace) {
      print("seed \(seed): \(alone.name) was not noted")
      return false
    }
    if lull.uses.isEmpty && lull.trace != cf.trace {
      print("seed \(seed): no difference was noted")
      return false
    }
    if (try? Program(text: program.description)) != program {
      print("seed \(seed): the text form is another program")
      return false
    }
  }
  let seconds = Date().timeIntervalSince(start)
  print("\(seeds.count) programs, no difference; \(Int(Double(seeds.count) / seconds)) a second")
  print("open descriptors: \(openDescriptors())")
  print(coverage.table)
  for cell in coverage.missing { print("never: \(cell)") }
  print("\(programsThatDiffer) programs on which Lull means to differ, by difference:")
  for difference in Difference.allCases {
    print("  \(difference.name): \(uses[difference] ?? 0)")
  }
  return true
}

/// Whether a difference alone is noted unless all is as it was on CFRunLoop.
private func isNoted(
  _ difference: Difference, on program: Program, unless cf: [String]
) -> Bool {
  let alone = trace(of: program, differences: [difference])
  return alone.uses[difference] != nil || alone.trace == cf
}

/// Prints a program and what it does.
func show(_ program: Program) {
  print(program)
  let cf = CFRun.trace(of: program).trace
  let model = trace(of: program, differences: []).trace
  let lull = trace(of: program, differences: Set(Difference.allCases))
  print(column("CFRunLoop") + column("model") + "Lull's model")
  for line in 0..<max(cf.count, model.count, lull.trace.count) {
    func event(_ trace: [String]) -> String { line < trace.count ? trace[line] : "" }
    let mark = event(cf) == event(model) ? "" : "   <- model differs"
    print(column(event(cf)) + column(event(model)) + event(lull.trace) + mark)
  }
  print("differences: \(lull.uses.keys.map(\.name).sorted().joined(separator: ", "))")
}

private func column(_ text: String) -> String {
  text + String(repeating: " ", count: max(1, 36 - text.count))
}

private func trace(
  of program: Program, differences: Set<Difference>
) -> (trace: [String], uses: [Difference: Int]) {
  var uses: [Difference: Int] = [:]
  let trace = Interpreter.run(
    program, on: { Model($0, $1, differences: differences) }, finish: { uses = $0.uses }
  ).trace
  return (trace, uses)
}

private func openDescriptors() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}
