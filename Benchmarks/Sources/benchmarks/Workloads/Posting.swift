// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Glibc
import Synchronization

private typealias Send = @convention(c) (UnsafeMutableRawPointer) -> Void
private typealias SendValue = @convention(c) (UnsafeMutableRawPointer, UInt64) -> Void

extension Workload {
  /// Other threads reach a loop.
  static let posting: [Workload] = [
    post("post", threads: 1, plain),
    post("post, 4 threads", threads: 4, plain),
    post("post capturing", threads: 1, owning),
    post("post capturing, 4 threads", threads: 4, owning),
    post("send a word", threads: 1, word),
    Workload(
      name: "send a signal", rows: [Row(unit: "ns")], fits: { $0.calls.make_signal != nil },
      measure: sendSignals),
    Workload(
      name: "ping-pong, 1 CPU", rows: [Row(unit: "ns")], onOneCPU: true, fits: everybody,
      measure: { try pingPong($0, eagerly: false) }),
    Workload(
      name: "ping-pong, free", rows: [Row(unit: "ns")], isFree: true, fits: everybody,
      measure: { try pingPong($0, eagerly: true) }),
    Workload(
      name: "wake, 1 CPU", rows: [Row(name: "p50", unit: "ns"), Row(name: "p99", unit: "ns")],
      onOneCPU: true, fits: everybody, measure: { try wake($0, otherCPU: nil) }),
    // A pool would choose the sleeper's CPU, which is another question.
    Workload(
      name: "wake, 2 CPUs", rows: [Row(name: "p50", unit: "ns"), Row(name: "p99", unit: "ns")],
      fits: { !$0.usesPool }, measure: { try wake($0, otherCPU: 1) }),
  ]

  /// A callback that posts the next.
  static let hopping: [Workload] = [
    Workload(
      name: "hop", rows: [Row(unit: "ns")], fits: everybody,
      measure: { try hop($0, calls: $0.calls.post, on: { $0 }) }),
    Workload(
      name: "hop by a signal", rows: [Row(unit: "ns")], fits: { $0.calls.make_signal != nil },
      measure: { try hop($0, calls: $0.calls.send_signal!, on: $0.calls.make_signal!) }),
  ]

  private static func post(
    _ name: String, threads: Int, _ send: @escaping @Sendable (Subject, Inbox, Int) -> Void
  ) -> Workload {
    Workload(
      name: name, rows: [Row(unit: "ns")], fits: everybody,
      measure: { try flood($0, threads: threads, send) })
  }
}

/// What posts go to.
private struct Inbox: @unchecked Sendable {  // made for other threads
  let loop: UnsafeMutableRawPointer
  let words: UnsafeMutableRawPointer
}

private func plain(_ subject: Subject, _ inbox: Inbox, _ count: Int) {
  let post: Send = subject.calls.post
  for _ in 0..<count { post(inbox.loop) }
}

private func owning(_ subject: Subject, _ inbox: Inbox, _ count: Int) {
  let post: SendValue = subject.calls.post_owning
  for value in 0..<UInt64(count) { post(inbox.loop, value) }
}

private func word(_ subject: Subject, _ inbox: Inbox, _ count: Int) {
  let send: SendValue = subject.calls.send_word
  for value in 0..<UInt64(count) { send(inbox.words, value) }
}

/// Posts as fast as threads can, to a loop that runs: from the first post to the end of the last
/// job.
private func flood(
  _ subject: Subject, threads: Int, _ send: @escaping (Subject, Inbox, Int) -> Void
) throws -> [Double] {
  let loop = subject.calls.make()
  let inbox = Inbox(loop: loop, words: subject.calls.make_inbox?(loop) ?? loop)
  let tally = Tally.begin(subject, loop)
  let each = try nanosecondsEach(start: 4_000) { count in
    let share = count / threads
    tally.pointee.left = share * threads
    tally.pointee.sum = 0
    let start = bench_now()
    let workers = (0..<threads).map { _ in
      Worker(cpu: subject.otherCPU) { send(subject, inbox, share) }
    }
    subject.calls.run(loop)
    for worker in workers { worker.join() }
    try check(tally.pointee.left == 0, "\(tally.pointee.left) of \(count) posts did not arrive")
    let sum = tally.pointee.sum
    let expected = UInt64(threads) * (UInt64(share) * UInt64(share - 1) / 2)
    try check(sum == 0 || sum == expected, "values got lost: \(sum), not \(expected)")
    return tally.pointee.end - start
  }
  return [each]
}

/// Signals one thing over and over. Those that come before the last was served cost least.
private func sendSignals(_ subject: Subject) throws -> [Double] {
  let loop = subject.calls.make()
  let signal = subject.calls.make_signal!(loop)
  let send: Send = subject.calls.send_signal!
  let served = UnsafeMutablePointer<Served>.allocate(capacity: 1)
  served.initialize(to: Served(stop: subject.calls.stop, loop: loop))
  bench_on_call(serve, served)
  let each = try nanosecondsEach { count in
    served.pointee.isLast.store(false, ordering: .sequentiallyConsistent)
    served.pointee.calls = 0
    let start = bench_now()
    let worker = Worker(cpu: subject.otherCPU) {
      for _ in 0..<count { send(signal) }
      served.pointee.isLast.store(true, ordering: .sequentiallyConsistent)
      send(signal)
    }
    subject.calls.run(loop)
    worker.join()
    let calls = served.pointee.calls
    try check(calls >= 1 && calls <= count + 1, "\(count) signals were served \(calls) times")
    return served.pointee.end - start
  }
  return [each]
}

private struct Served: ~Copyable {
  let stop: Send
  let loop: UnsafeMutableRawPointer
  let isLast = Atomic<Bool>(false)
  var calls = 0
  var end: UInt64 = 0
}

private func serve(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let served = state.assumingMemoryBound(to: Served.self)
  served.pointee.calls += 1
  if served.pointee.isLast.load(ordering: .sequentiallyConsistent) {
    served.pointee.end = bench_now()
    served.pointee.stop(served.pointee.loop)
  }
}

/// Two loops that answer each other, on threads of their own: a round trip.
private func pingPong(_ subject: Subject, eagerly: Bool) throws -> [Double] {
  let match = UnsafeMutablePointer<Match>.allocate(capacity: 1)
  let beEager = eagerly ? subject.calls.be_eager : nil
  let here = subject.calls.make()
  beEager?(here)
  match.initialize(
    to: Match(post: subject.calls.post, stop: subject.calls.stop, here: here, there: here))
  bench_on_call(strike, match)
  let isReady = Latch()
  let isWanted = Latch()
  let worker = Worker(cpu: nil) {
    match.pointee.there = subject.calls.make()
    beEager?(match.pointee.there)
    isReady.open()
    while true {
      isWanted.wait()
      if match.pointee.left == 0 { return }
      subject.calls.run(match.pointee.there)
    }
  }
  isReady.wait()
  let each = try nanosecondsEach { count in
    match.pointee.left = 2 * count
    match.pointee.isHere = false
    isWanted.open()
    let start = bench_now()
    subject.calls.post(match.pointee.there)
    subject.calls.run(here)
    let time = bench_now() - start
    try check(match.pointee.left == 0, "the ball was lost with \(match.pointee.left) to go")
    return time
  }
  isWanted.open()
  worker.join()
  return [each]
}

/// Whoever has the ball has the state: posts hand it over.
private struct Match {
  let post: Send
  let stop: Send
  let here: UnsafeMutableRawPointer
  var there: UnsafeMutableRawPointer
  /// Whose turn it is.
  var isHere = false
  var left = 0
}

private func strike(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let match = state.assumingMemoryBound(to: Match.self)
  let isHere = match.pointee.isHere
  match.pointee.isHere = !isHere
  match.pointee.left -= 1
  let left = match.pointee.left
  let here = match.pointee.here
  let there = match.pointee.there
  let stop = match.pointee.stop
  // The last but one is there, and ends that loop; the last is here.
  if left > 0 { match.pointee.post(isHere ? there : here) }
  if left <= 1 { stop(isHere ? here : there) }
}

/// From a post to its job in a loop that sleeps.
private func wake(_ subject: Subject, otherCPU: Int32?) throws -> [Double] {
  let loop = subject.calls.make()
  let times = UnsafeMutablePointer<Times>.allocate(capacity: 1)
  times.initialize(to: Times(stop: subject.calls.stop, loop: loop, count: 1_500))
  bench_on_call(arrive, times)
  let post: Send = subject.calls.post
  let worker = Worker(cpu: otherCPU) {
    for number in 1...times.pointee.count {
      bench_sleep(150_000)
      times.pointee.posted = bench_now()
      post(loop)
      while times.pointee.arrived.load(ordering: .acquiring) < number { bench_sleep(20_000) }
    }
  }
  subject.calls.run(loop)
  worker.join()
  let latencies = times.pointee.latencies
  try check(latencies.count == times.pointee.count, "\(latencies.count) wake-ups arrived")
  return [quantile(0.5, latencies), quantile(0.99, latencies)]
}

private struct Times: ~Copyable {
  let stop: Send
  let loop: UnsafeMutableRawPointer
  let count: Int
  /// Handed over by the post, and back by `arrived`.
  var posted: UInt64 = 0
  let arrived = Atomic<Int>(0)
  var latencies: [Double] = []

  init(stop: Send, loop: UnsafeMutableRawPointer, count: Int) {
    self.stop = stop
    self.loop = loop
    self.count = count
    latencies.reserveCapacity(count)
  }
}

private func arrive(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let now = bench_now()
  let times = state.assumingMemoryBound(to: Times.self)
  times.pointee.latencies.append(Double(now - times.pointee.posted))
  let count = times.pointee.latencies.count
  if count == times.pointee.count { times.pointee.stop(times.pointee.loop) }
  times.pointee.arrived.store(count, ordering: .releasing)
}

/// Each call asks for the next, on the loop's thread.
private func hop(
  _ subject: Subject, calls send: @escaping Send,
  on target: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
) throws -> [Double] {
  let loop = subject.calls.make()
  let chain = UnsafeMutablePointer<Chain>.allocate(capacity: 1)
  chain.initialize(
    to: Chain(send: send, target: target(loop), stop: subject.calls.stop, loop: loop))
  bench_on_call(hopOn, chain)
  let each = try nanosecondsEach { count in
    chain.pointee.left = count
    let start = bench_cpu_time()
    send(chain.pointee.target)
    subject.calls.run(loop)
    let time = bench_cpu_time() - start
    try check(chain.pointee.left == 0, "it stopped with \(chain.pointee.left) hops to go")
    return time
  }
  return [each]
}

private struct Chain {
  let send: Send
  let target: UnsafeMutableRawPointer
  let stop: Send
  let loop: UnsafeMutableRawPointer
  var left = 0
}

private func hopOn(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let chain = state.assumingMemoryBound(to: Chain.self)
  chain.pointee.left -= 1
  if chain.pointee.left > 0 {
    chain.pointee.send(chain.pointee.target)
  } else {
    chain.pointee.stop(chain.pointee.loop)
  }
}
