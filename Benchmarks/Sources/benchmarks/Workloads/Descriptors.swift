// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Glibc

extension Workload {
  static let descriptors: [Workload] = [
    Workload(
      name: "ring, 100 pairs", rows: [Row(unit: "ns")], fits: { $0.calls.watch != nil },
      measure: { try passAround($0, pairs: 100) }),
    Workload(
      name: "ring, 1 000 pairs", rows: [Row(unit: "ns")], fits: { $0.calls.watch != nil },
      measure: { try passAround($0, pairs: 1_000) }),
  ]
}

/// Connected sockets: what is written to one end is read from the other.
func makePairs(_ count: Int) throws -> [(reads: Int32, writes: Int32)] {
  try (0..<count).map { _ in
    var ends: [Int32] = [0, 0]
    let flags = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    try check(socketpair(AF_UNIX, flags, 0, &ends) == 0, "no socket pair: error \(errno)")
    return (ends[0], ends[1])
  }
}

/// A hundred bytes go round a ring of sockets, each read from one pair and written to the next.
private func passAround(_ subject: Subject, pairs count: Int) throws -> [Double] {
  let pairs = try makePairs(count)
  let loop = subject.calls.make()
  let ring = UnsafeMutablePointer<Ring>.allocate(capacity: 1)
  ring.initialize(to: Ring(stop: subject.calls.stop, loop: loop, pairs: pairs))
  bench_on_call(passOn, ring)
  for place in 0..<count { subject.calls.watch!(loop, pairs[place].reads, UInt64(place)) }
  let bytes = 100
  let each = try nanosecondsEach { events in
    ring.pointee.left = events
    for place in 0..<bytes { _ = write(pairs[place * count / bytes].writes, "x", 1) }
    let start = bench_cpu_time()
    subject.calls.run(loop)
    let time = bench_cpu_time() - start
    var found = 0
    var byte: UInt8 = 0
    for pair in pairs { while read(pair.reads, &byte, 1) == 1 { found += 1 } }
    try check(found == bytes, "\(found) of \(bytes) bytes are left in the ring")
    return time
  }
  return [each]
}

private struct Ring {
  let stop: @convention(c) (UnsafeMutableRawPointer) -> Void
  let loop: UnsafeMutableRawPointer
  let pairs: UnsafeMutablePointer<(reads: Int32, writes: Int32)>
  let count: Int
  var left = 0

  init(
    stop: @escaping @convention(c) (UnsafeMutableRawPointer) -> Void,
    loop: UnsafeMutableRawPointer, pairs: [(reads: Int32, writes: Int32)]
  ) {
    self.stop = stop
    self.loop = loop
    self.pairs = .allocate(capacity: pairs.count)
    self.pairs.initialize(from: pairs, count: pairs.count)
    count = pairs.count
  }
}

private func passOn(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let ring = state.assumingMemoryBound(to: Ring.self)
  // After the last one a pool may have more in hand: those stay where they are, to be counted.
  if ring.pointee.left == 0 { return }
  let place = Int(value)
  let next = place + 1 == ring.pointee.count ? 0 : place + 1
  var byte: UInt8 = 0
  guard read(ring.pointee.pairs[place].reads, &byte, 1) == 1 else { return }
  _ = write(ring.pointee.pairs[next].writes, &byte, 1)
  ring.pointee.left -= 1
  if ring.pointee.left == 0 { ring.pointee.stop(ring.pointee.loop) }
}
