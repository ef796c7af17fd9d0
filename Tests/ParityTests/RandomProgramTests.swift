// SPDX-License-Identifier: Apache-2.0

internal import Glibc
import ParityKit
import Testing

/// Random programs on Lull and on the real CFRunLoop.
///
/// The environment says how many and from which seed: `LULL_PARITY_PROGRAMS`, `LULL_PARITY_SEED`.
/// `Tools/parity` runs many of them, in release.
@Suite struct `Random programs` {
  @Test func `do on Lull what they do on CFRunLoop, declared differences aside`() async {
    let seeds = Seeds(
      first: number("LULL_PARITY_SEED") ?? 1, count: number("LULL_PARITY_PROGRAMS") ?? 10_000)
    let clock = ContinuousClock()
    let start = clock.now
    let tally = await withTaskGroup(of: Tally.self) { group in
      for worker in 0..<2 { group.addTask { compare(seeds, worker, of: 2) } }
      return await group.reduce(into: Tally()) { $0.add($1) }
    }
    print(tally.report(in: clock.now - start))
    if let failure = tally.failure { Issue.record("\(failure)") }
    guard seeds.count >= 10_000 else { return }
    for difference in Difference.allCases where tally.uses[difference, default: 0] == 0 {
      Issue.record("no program ever made use of \(difference.name)")
    }
    for cell in tally.coverage.cells(below: 100) { Issue.record("too seldom: \(cell)") }
  }

  private func number(_ variable: String) -> Int? {
    unsafe getenv(variable).flatMap { unsafe Int(String(cString: $0)) }
  }
}

private struct Seeds: Sendable {
  let first: Int
  let count: Int
}

/// What a worker found out.
private struct Tally: Sendable {
  var programs = 0
  var agreed = 0
  var uses: [Difference: Int] = [:]
  var coverage = Coverage()
  var failure: String?

  mutating func add(_ other: Tally) {
    programs += other.programs
    agreed += other.agreed
    uses.merge(other.uses, uniquingKeysWith: +)
    coverage.add(other.coverage)
    failure = failure ?? other.failure
  }

  mutating func add(_ comparison: Comparison) {
    programs += 1
    if comparison.cf == comparison.lull { agreed += 1 }
    for difference in comparison.uses.keys { uses[difference, default: 0] += 1 }
    coverage.add(comparison.coverage)
  }

  func report(in duration: Duration) -> String {
    let rate = Int(Double(programs) / (duration / .seconds(1)))
    var lines = [
      "parity: \(programs) programs on Lull and on CFRunLoop, \(rate) a second",
      "parity: \(agreed) agreed event by event; the others by a declared difference:",
    ]
    lines += Difference.allCases.map { "  \($0.name): \(uses[$0] ?? 0)" }
    lines.append("parity: how often each operation was carried out in each context:")
    lines.append(coverage.table)
    return lines.joined(separator: "\n")
  }
}

/// Compares every `count`-th program, up to the first that fails.
private func compare(_ seeds: Seeds, _ worker: Int, of count: Int) -> Tally {
  let oracle = OracleProcess()
  var tally = Tally()
  var sent: [(seed: UInt64, program: Program)] = []
  var taken = 0
  var next = worker
  while next < seeds.count || taken < sent.count {
    while next < seeds.count && oracle.hasRoom {
      let seed = UInt64(seeds.first + next)
      sent.append((seed, Program(seed: seed)))
      oracle.send(sent.last!.program.description)
      next += count
    }
    let (seed, program) = sent[taken]
    taken += 1
    if taken == 64 {
      sent.removeFirst(taken)
      taken = 0
    }
    let comparison = Comparison(program, cf: oracle.takeTrace())
    tally.add(comparison)
    if let complaint = comparison.complaint {
      tally.failure = "seed \(seed): \(complaint)\n" + shrunk(program, complaint)
      break
    }
  }
  return tally
}

/// The smallest program with the same complaint, and what it does.
private func shrunk(_ program: Program, _ complaint: String) -> String {
  let oracle = OracleProcess()
  func compare(_ program: Program) -> Comparison {
    Comparison(program, cf: oracle.trace(of: program.description))
  }
  let small = program.shrunk { compare($0).complaint == complaint }
  return "\(small)\n\(compare(small).table)"
}
