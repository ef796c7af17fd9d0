// SPDX-License-Identifier: Apache-2.0

import CSubjects

extension Workload {
  static let timers: [Workload] = [
    arming("timers, 1 k", 1_000),
    arming("timers, 100 k", 100_000),
    arming("timers, 1 M", 1_000_000),
    Workload(
      name: "fire 1 M in 1 s", rows: [Row(unit: "ns")], rounds: 3, fits: { $0.holds(1_000_000) },
      measure: { try fire($0, 1_000_000) }),
  ]

  private static func arming(_ name: String, _ count: Int) -> Workload {
    Workload(
      name: name,
      rows: ["sum", "add", "re-arm", "put off", "cancel"].map { Row(name: $0, unit: "ns") },
      rounds: count < 1_000_000 ? .max : 3, fits: { $0.holds(count) },
      measure: { try arm($0, count) })
  }
}

extension Subject {
  /// Whether it can take part with that many timers, if need be with a tenth of them.
  fileprivate func holds(_ count: Int) -> Bool {
    calls.most_timers == 0 || calls.most_timers >= count / 10
  }

  fileprivate func share(of count: Int) -> Int {
    calls.most_timers == 0 ? count : min(count, calls.most_timers)
  }
}

/// Timers of a loop that never get to fire, on its thread, each step in another order.
private func arm(_ subject: Subject, _ wanted: Int) throws -> [Double] {
  let calls = subject.calls
  let loop = calls.make()
  try expectTimersToObey(subject, loop)
  var random = Random()
  let count = subject.share(of: wanted)
  var rounds = 0
  var times: [UInt64] = [0, 0, 0, 0]
  while times.reduce(0, +) < 200_000_000 {
    let delays = (0..<count).map { _ in 1_000_000_000 + random.next() % 60_000_000_000 }
    let others = (0..<count).map { _ in 1_000_000_000 + random.next() % 60_000_000_000 }
    let order = random.order(count)
    let later = order.map { others[Int($0)] + random.next() % 60_000_000_000 }
    let othersInOrder = order.map { others[Int($0)] }
    let orders = (order, random.order(count))
    let timers = calls.make_timers(loop, count)
    times[0] += cpuTime { calls.add_timers(timers, orders.0, delays, count) }
    times[1] += cpuTime { calls.set_timers(timers, order, othersInOrder, count) }
    times[2] += cpuTime { calls.set_timers(timers, order, later, count) }
    times[3] += cpuTime { calls.cancel_timers(timers, orders.1, count) }
    calls.free_timers(timers)
    rounds += 1
    // The first finds memory that nobody has touched yet.
    if rounds == 1 { times = [0, 0, 0, 0] }
  }
  rounds -= 1
  let each = times.map { Double($0) / Double(count * rounds) }
  return [each.reduce(0, +)] + each
}

private func cpuTime(_ work: () -> Void) -> UInt64 {
  let start = bench_cpu_time()
  work()
  return bench_cpu_time() - start
}

/// Whether all that is measured does what it says: set earlier or later, cancelled or left alone.
private func expectTimersToObey(_ subject: Subject, _ loop: UnsafeMutableRawPointer) throws {
  let milli: UInt64 = 1_000_000
  let timers = subject.calls.make_timers(loop, 5)
  let fired = UnsafeMutablePointer<Fired>.allocate(capacity: 1)
  fired.initialize(to: Fired(stop: subject.calls.stop, loop: loop, last: 4))
  bench_on_call(noteFired, fired)
  subject.calls.add_timers(
    timers, [0, 1, 2, 3, 4], [2 * milli, 2 * milli, 3_600_000 * milli, 2 * milli, 30 * milli], 5)
  subject.calls.set_timers(timers, [1, 2], [3_600_000 * milli, 3 * milli], 2)
  subject.calls.cancel_timers(timers, [3], 1)
  subject.calls.run(loop)
  try check(
    fired.pointee.numbers == [0, 2, 4],
    "timers 0, 2 and 4 should have fired, not \(fired.pointee.numbers.sorted())")
  // What is armed still would be part of what is measured.
  subject.calls.cancel_timers(timers, [1, 2], 2)
}

private struct Fired {
  let stop: @convention(c) (UnsafeMutableRawPointer) -> Void
  let loop: UnsafeMutableRawPointer
  let last: UInt64
  var numbers: Set<UInt64> = []
}

private func noteFired(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let fired = state.assumingMemoryBound(to: Fired.self)
  fired.pointee.numbers.insert(value)
  if value == fired.pointee.last { fired.pointee.stop(fired.pointee.loop) }
}

/// Timers that are due all through one second.
private func fire(_ subject: Subject, _ wanted: Int) throws -> [Double] {
  let loop = subject.calls.make()
  let count = subject.share(of: wanted)
  var random = Random()
  let delays = (0..<count).map { _ in 1_000_000_000 + random.next() % 1_000_000_000 }
  let tally = Tally.begin(subject, loop)
  tally.pointee.left = count
  let timers = subject.calls.make_timers(loop, count)
  let added = bench_now()
  subject.calls.add_timers(timers, Array(0..<UInt32(count)), delays, count)
  let start = bench_cpu_time()
  subject.calls.run(loop)
  let time = bench_cpu_time() - start
  try check(tally.pointee.left == 0, "\(tally.pointee.left) of \(count) timers did not fire")
  try check(
    tally.pointee.sum == UInt64(count) * UInt64(count - 1) / 2, "some fired twice, others never")
  try check(tally.pointee.end - added >= delays.max()! - 10_000_000, "the last fired early")
  return [Double(time) / Double(count)]
}

/// The same numbers in each process: what is measured does not depend on luck.
private struct Random: RandomNumberGenerator {
  private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  mutating func order(_ count: Int) -> [UInt32] { (0..<UInt32(count)).shuffled(using: &self) }
}
