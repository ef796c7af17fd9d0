// SPDX-License-Identifier: Apache-2.0

import CSubjects

extension Workload {
  static let ticks: [Workload] = [
    ticking("tick, 1 ms", nanoseconds: 1_000_000, count: 1_000),
    ticking("tick, 16.667 ms", nanoseconds: 16_666_667, count: 90),
    Workload(
      name: "precise tick, 16.667 ms",
      rows: ["p50", "p99", "drift"].map { Row(name: $0, unit: "us") }, rounds: 3,
      fits: { $0.calls.precise_tick != nil },
      measure: { try tick($0, by: $0.calls.precise_tick!, 16_666_667, 90) }),
  ]

  /// How late each tick is against the grid that begins with the first. A tick that was left out
  /// makes all after it late by one.
  private static func ticking(_ name: String, nanoseconds: UInt64, count: Int) -> Workload {
    Workload(
      name: name,
      rows: ["p50", "p99", "drift"].map { Row(name: $0, unit: "us") }, rounds: 3, fits: everybody,
      measure: { try tick($0, by: $0.calls.tick, nanoseconds, count) })
  }
}

private func tick(
  _ subject: Subject, by begin: @convention(c) (UnsafeMutableRawPointer, UInt64) -> Void,
  _ nanoseconds: UInt64, _ count: Int
) throws -> [Double] {
  let loop = subject.calls.make()
  let ticks = UnsafeMutablePointer<Ticks>.allocate(capacity: 1)
  ticks.initialize(to: Ticks(stop: subject.calls.stop, loop: loop, count: count))
  bench_on_call(noteTick, ticks)
  // A first one, for some other day: making it takes longer than a tick may be late.
  begin(loop, 3_600_000_000_000)
  let start = bench_now()
  begin(loop, nanoseconds)
  subject.calls.run(loop)
  try check(ticks.pointee.dates.count >= count, "\(ticks.pointee.dates.count) ticks came")
  let late = ticks.pointee.dates.prefix(count).enumerated().map { place, date in
    (Double(date) - Double(start + UInt64(place + 1) * nanoseconds)) / 1_000
  }
  try check(late.allSatisfy { $0 > -500 }, "a tick was early by \(-late.min()!) us")
  return [quantile(0.5, late), quantile(0.99, late), late.last!]
}

private struct Ticks {
  let stop: @convention(c) (UnsafeMutableRawPointer) -> Void
  let loop: UnsafeMutableRawPointer
  let count: Int
  var dates: [UInt64] = []
}

private func noteTick(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let now = bench_now()
  let ticks = state.assumingMemoryBound(to: Ticks.self)
  ticks.pointee.dates.append(now)
  if ticks.pointee.dates.count == ticks.pointee.count { ticks.pointee.stop(ticks.pointee.loop) }
}
