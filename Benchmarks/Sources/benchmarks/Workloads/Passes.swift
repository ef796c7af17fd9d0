// SPDX-License-Identifier: Apache-2.0

import CSubjects

extension Workload {
  static let passes: [Workload] = [
    Workload(
      name: "empty pass", rows: [Row(unit: "ns")], fits: { $0.calls.pass != nil },
      measure: { try pass($0, observed: false) }),
    Workload(
      name: "empty pass, six observers", rows: [Row(unit: "ns")],
      fits: { $0.calls.observe != nil }, measure: { try pass($0, observed: true) }),
    Workload(
      name: "nested run, 1 000 descriptors", rows: [Row(unit: "ns")],
      fits: { $0.calls.nest != nil }, measure: nest),
  ]
}

private func pass(_ subject: Subject, observed: Bool) throws -> [Double] {
  let loop = subject.calls.make()
  let pass = subject.calls.pass!
  let tally = Tally.begin(subject, loop)
  // Where nothing is watched there would be nothing to ask the kernel for.
  subject.calls.watch?(loop, try makePairs(1)[0].reads, 0)
  if observed { subject.calls.observe!(loop) }
  let each = try nanosecondsEach { count in
    tally.pointee.left = .max
    let start = bench_cpu_time()
    for _ in 0..<count { pass(loop) }
    let time = bench_cpu_time() - start
    let calls = Int.max - tally.pointee.left
    // Before timers and before sources, at least.
    try check(observed ? calls >= 2 * count : calls == 0, "\(count) passes made \(calls) calls")
    return time
  }
  return [each]
}

/// A run in a mode of its own, in a callback of a run whose mode has a thousand idle descriptors.
private func nest(_ subject: Subject) throws -> [Double] {
  let loop = subject.calls.make()
  for (place, pair) in try makePairs(1_000).enumerated() {
    subject.calls.watch!(loop, pair.reads, UInt64(place + 1))
  }
  let nests = UnsafeMutablePointer<Nests>.allocate(capacity: 1)
  nests.initialize(to: Nests(nest: subject.calls.nest!, stop: subject.calls.stop, loop: loop))
  bench_on_call(nestMany, nests)
  let each = try nanosecondsEach { count in
    nests.pointee.count = count
    nests.pointee.time = 0
    subject.calls.post(loop)
    subject.calls.run(loop)
    try check(nests.pointee.time > 0, "no run was nested")
    try check(nests.pointee.strangers == 0, "the descriptors of the outer run were served")
    return nests.pointee.time
  }
  return [each]
}

private struct Nests {
  let nest: @convention(c) (UnsafeMutableRawPointer) -> Void
  let stop: @convention(c) (UnsafeMutableRawPointer) -> Void
  let loop: UnsafeMutableRawPointer
  var count = 0
  var time: UInt64 = 0
  var strangers = 0
}

private func nestMany(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let nests = state.assumingMemoryBound(to: Nests.self)
  if value != 0 { return nests.pointee.strangers += 1 }
  let start = bench_cpu_time()
  for _ in 0..<nests.pointee.count { nests.pointee.nest(nests.pointee.loop) }
  nests.pointee.time = bench_cpu_time() - start
  nests.pointee.stop(nests.pointee.loop)
}
