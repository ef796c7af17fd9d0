// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Lull

extension Workload {
  /// Bytes of the heap for each of many, handler and handle included.
  static let memory: [Workload] = [
    Workload(
      name: "memory of a timer", rows: [Row(unit: "bytes")], rounds: 1, fits: everybody,
      measure: weighTimers),
    Workload(
      name: "memory of a descriptor source", rows: [Row(unit: "bytes")], rounds: 1,
      fits: { $0.calls.watch != nil }, measure: weighSources),
    Workload(
      name: "memory of a loop", rows: [Row(unit: "bytes")], rounds: 1, fits: everybody,
      measure: weighLoops),
    Workload(
      name: "memory of a queued idle item", rows: [Row(unit: "bytes")], rounds: 1, fits: lullOnly,
      measure: { _ in try weighItems() }),
  ]
}

private func weighTimers(_ subject: Subject) throws -> [Double] {
  let loop = subject.calls.make()
  let count = subject.calls.most_timers == 0 ? 100_000 : min(100_000, subject.calls.most_timers)
  let which = Array(0..<UInt32(count))
  let delays = which.map { 3_600_000_000_000 + UInt64($0) * 1_000 }
  let before = bench_heap()
  let timers = subject.calls.make_timers(loop, count)
  subject.calls.add_timers(timers, which, delays, count)
  return [Double(bench_heap() - before) / Double(count)]
}

private func weighSources(_ subject: Subject) throws -> [Double] {
  let loop = subject.calls.make()
  let pairs = try makePairs(1_000)
  let before = bench_heap()
  for (place, pair) in pairs.enumerated() {
    subject.calls.watch!(loop, pair.reads, UInt64(place))
  }
  return [Double(bench_heap() - before) / Double(pairs.count)]
}

/// Loops of that many threads, each after a first pass.
private func weighLoops(_ subject: Subject) throws -> [Double] {
  let count = 64
  bench_on_call({ _, _ in }, UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))
  let isBorn = Latch()
  let isReady = Latch()
  let mayMake = Latch()
  let mayEnd = Latch()
  let calls = subject.calls
  let threads = (0..<count).map { _ in
    Worker(cpu: 0) {
      // A thread's first allocation brings what the heap keeps for the thread.
      UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8).deallocate()
      isBorn.open()
      mayMake.wait()
      let loop = calls.make()
      calls.pass?(loop)
      isReady.open()
      mayEnd.wait()
    }
  }
  for _ in threads { isBorn.wait() }
  let before = bench_heap()
  for _ in threads { mayMake.open() }
  for _ in threads { isReady.wait() }
  let after = bench_heap()
  for _ in threads { mayEnd.open() }
  for thread in threads { thread.join() }
  return [Double(after - before) / Double(count)]
}

private func weighItems() throws -> [Double] {
  let loop = Loop.current
  let count: UInt64 = 100_000
  let before = bench_heap()
  for value in 0..<count {
    loop.idle.enqueue(value, key: 0) { _, value in
      bench_call(value)
      return .continue
    }
  }
  let bytes = Double(bench_heap() - before) / Double(count)
  try check(loop.idle.count == Int(count), "\(loop.idle.count) items are queued")
  return [bytes]
}
