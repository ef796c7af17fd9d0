// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Lull

extension Workload {
  /// What only Lull has, in units of what it is made of, measured in the same process.
  static let idle: [Workload] = [
    Workload(
      name: "empty idle piece", rows: [Row(unit: "clocks"), Row(name: "in all", unit: "ns")],
      fits: lullOnly, measure: { _ in try runPieces() }),
    Workload(
      name: "add an idle item", rows: [Row(unit: "posts"), Row(name: "in all", unit: "ns")],
      fits: lullOnly, measure: { _ in try addItems(cpu: nil) }),
    Workload(
      name: "add an idle item from another thread",
      rows: [Row(unit: "posts"), Row(name: "in all", unit: "ns")],
      fits: lullOnly, measure: { _ in try addItems(cpu: 1) }),
    Workload(
      name: "idle loop",
      rows: [Row(name: "CPU", unit: "us/s"), Row(name: "wake-ups", unit: "1/s")], fits: everybody,
      measure: rest),
  ]

  static let lullOnly: @Sendable (Subject) -> Bool = { $0.name == "Lull" }
}

/// Pieces that do nothing, without the question to the kernel that comes before each: in readings
/// of the clock. The three are measured in turns, since one is the difference of two.
private func runPieces() throws -> [Double] {
  let loop = Loop.current
  // Where nothing is watched the kernel would not be asked.
  try loop.watch(try makePairs(1)[0].reads, for: .readable) { _, _ in }
  let turns = try (0..<7).map { _ in try runPieces(on: loop) }
  return [quantile(0.5, turns.map(\.clocks)), quantile(0.5, turns.map(\.nanoseconds))]
}

private func runPieces(on loop: Loop) throws -> (clocks: Double, nanoseconds: Double) {
  let piece = try nanosecondsEach(lasting: 40_000_000) { count in
    nonisolated(unsafe) let done = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    done.initialize(to: 0)
    let start = bench_cpu_time()
    loop.idle.forEach(0..<count, onEnd: { _ in loop.stop() }) { _, _ in
      done.pointee += 1
      return .continue
    }
    loop.run()
    let time = bench_cpu_time() - start
    try check(done.pointee == count, "\(done.pointee) of \(count) pieces ran")
    return time
  }
  let question = nanosecondsEach(lasting: 40_000_000) { count in
    let start = bench_cpu_time()
    for _ in 0..<count { bench_ask_kernel() }
    return bench_cpu_time() - start
  }
  let clock = nanosecondsEach(lasting: 40_000_000) { count in
    let start = bench_cpu_time()
    for _ in 0..<count { _ = bench_now() }
    return bench_cpu_time() - start
  }
  return ((piece - question) / clock, piece)
}

/// The call alone, against a post that captures. The loop runs what came after each batch.
private func addItems(cpu: Int32?) throws -> [Double] {
  let loop = Loop.current
  loop.add(Loop.Source { _ in })
  let batch: UInt64 = 10_000
  let tally = UnsafeMutablePointer<Int>.allocate(capacity: 1)
  tally.initialize(to: 0)
  bench_on_call({ state, _ in state.assumingMemoryBound(to: Int.self).pointee += 1 }, tally)
  let times = UnsafeMutablePointer<(post: UInt64, item: UInt64)>.allocate(capacity: 1)
  times.initialize(to: (0, 0))
  let batches = 20
  for number in 0...batches {
    perform(on: cpu) {
      let start = bench_cpu_time()
      for value in 0..<batch { loop.perform { bench_call(value) } }
      times.pointee.post += bench_cpu_time() - start
    }
    _ = loop.run(in: .default, for: .zero)
    perform(on: cpu) {
      let start = bench_cpu_time()
      for value in 0..<batch {
        loop.idle.enqueue(value, key: 0) { _, value in
          bench_call(value)
          return .continue
        }
      }
      times.pointee.item += bench_cpu_time() - start
    }
    loop.idle.enqueue(0, key: 0) { _, _ in
      loop.stop()
      return .continue
    }
    loop.run()
    if number == 0 { times.pointee = (0, 0) }
  }
  let wanted = 2 * Int(batch) * (batches + 1)
  try check(tally.pointee == wanted, "\(tally.pointee) of \(wanted) jobs and pieces ran")
  let count = Double(Int(batch) * batches)
  return [
    Double(times.pointee.item) / Double(times.pointee.post), Double(times.pointee.item) / count,
  ]
}

/// Does something here, or on a thread of its own.
private func perform(on cpu: Int32?, _ body: @escaping () -> Void) {
  if let cpu { Worker(cpu: cpu, body).join() } else { body() }
}

/// What a loop costs that has a timer for later and a silent descriptor, and nothing to do.
private func rest(_ subject: Subject) throws -> [Double] {
  let loop = subject.calls.make()
  let tally = Tally.begin(subject, loop)
  tally.pointee.left = 1
  let timers = subject.calls.make_timers(loop, 1)
  subject.calls.add_timers(timers, [0], [3_600_000_000_000], 1)
  subject.calls.watch?(loop, try makePairs(1)[0].reads, 0)
  let costs = UnsafeMutablePointer<(cpu: UInt64, sleeps: UInt64)>.allocate(capacity: 1)
  costs.initialize(to: (0, 0))
  let post = subject.calls.post
  let worker = Worker(cpu: subject.otherCPU) {
    bench_sleep(50_000_000)
    let own = bench_thread_cpu_time()
    let before = (bench_cpu_time(), bench_sleeps())
    bench_sleep(500_000_000)
    let after = (bench_cpu_time(), bench_sleeps())
    // Less what this thread itself does.
    costs.pointee.cpu = after.0 - before.0 - min(after.0 - before.0, bench_thread_cpu_time() - own)
    costs.pointee.sleeps = after.1 - before.1 - 1
    post(loop)
  }
  subject.calls.run(loop)
  worker.join()
  try check(tally.pointee.left == 0, "the loop was not woken at the end")
  return [Double(costs.pointee.cpu) / 500, Double(costs.pointee.sleeps) * 2]
}
