// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull
import Testing

/// What the loop relies on, seen on each back end.
@Suite struct `A back end` {
  static let watching: [BackEnd] = [.epoll, .poll]

  @Test(arguments: BackEnd.allCases)
  func `comes back at the deadline and not before`(_ backEnd: BackEnd) {
    let poller = backEnd.makePoller()
    var ready: [ReadyEvent] = []
    for nanoseconds in [Int64(-1), 0, 1, 900, 50_000, 2_500_000] {
      let deadline = poller.now + nanoseconds
      poller.wait(until: deadline, into: &ready)
      #expect(poller.now >= deadline)
    }
    poller.wait(until: .min, into: &ready)
    #expect(ready.isEmpty)
  }

  @Test(arguments: BackEnd.allCases)
  func `is woken by a wake before the wait, once`(_ backEnd: BackEnd) {
    let poller = backEnd.makePoller()
    var ready: [ReadyEvent] = []
    for _ in 0..<3 { poller.wake() }
    poller.wait(until: .max, into: &ready)
    let deadline = poller.now + 1_000_000
    poller.wait(until: deadline, into: &ready)
    #expect(poller.now >= deadline)
    #expect(ready.isEmpty)
  }

  @Test(arguments: BackEnd.allCases)
  func `is woken from any thread`(_ backEnd: BackEnd) {
    let poller = backEnd.makePoller()
    let waits = Counter()
    let thread = RealThread {
      var ready: [ReadyEvent] = []
      for _ in 0..<1_000 {
        poller.wait(until: .max, into: &ready)
        waits.add()
      }
    }
    // A wake may end the wait before the one it was meant for, so more than one may be needed.
    for round in 1...1_000 {
      while waits.value < round {
        poller.wake()
        sched_yield()
      }
    }
    thread.join()
  }

  @Test(arguments: BackEnd.allCases)
  func `ends a wait at a date of the clock that counts suspend`(_ backEnd: BackEnd) {
    let poller = backEnd.makePoller()
    var ready: [ReadyEvent] = []
    let date = poller.continuousNow + 3_000_000
    poller.setContinuousDeadline(date)
    while poller.continuousNow < date { poller.wait(until: .max, into: &ready) }
    poller.setContinuousDeadline(.max)
    let deadline = poller.now + 1_000_000
    poller.wait(until: deadline, into: &ready)
    #expect(poller.now >= deadline)
    #expect(ready.isEmpty)
  }

  @Test(arguments: watching)
  func `tells what is ready for as long as it is`(_ backEnd: BackEnd) throws {
    let poller = backEnd.makePoller()
    let (one, two) = (Pipe(), Pipe())
    defer { extendLifetime((one, two)) }
    for (token, pipe) in [(UInt64(7), one), (8, two)] {
      try poller.prepare(pipe.reader)
      try poller.watch(pipe.reader, for: .readable, token: token)
    }
    #expect(look(poller) == [:])
    one.write(2)
    for _ in 0..<2 { #expect(look(poller) == [7: .readable]) }
    two.write(1)
    #expect(look(poller) == [7: .readable, 8: .readable])
    #expect(one.read(2) == 2)
    #expect(look(poller) == [8: .readable])
    poller.unwatch(two.reader)
    #expect(look(poller) == [:])
  }

  @Test(arguments: watching)
  func `tells of hang-up and of room to write`(_ backEnd: BackEnd) throws {
    let poller = backEnd.makePoller()
    let pipe = Pipe()
    defer { extendLifetime(pipe) }
    try poller.watch(pipe.writer, for: .writable, token: 1)
    #expect(look(poller) == [1: .writable])
    try poller.watch(pipe.writer, for: [], token: 1)
    #expect(look(poller) == [:])
    try poller.watch(pipe.reader, for: .readable, token: 2)
    pipe.closeWriter()
    #expect(look(poller)[2]?.contains([.hangUp, .readable]) == true)
  }

  @Test(arguments: watching)
  func `takes another interest and token for what it watches`(_ backEnd: BackEnd) throws {
    let poller = backEnd.makePoller()
    var ends: [CInt] = [0, 0]
    #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    try poller.watch(ends[0], for: .readable, token: 1)
    #expect(look(poller) == [:])
    try poller.watch(ends[0], for: [.readable, .writable], token: 2)
    #expect(look(poller) == [2: .writable])
    writeBytes(ends[1], 1)
    #expect(look(poller) == [2: [.readable, .writable]])
    try poller.watch(ends[0], for: .readable, token: 3)
    #expect(look(poller) == [3: .readable])
    poller.startAfresh()
    #expect(look(poller) == [3: .readable])
    poller.wake()
    var ready: [ReadyEvent] = []
    poller.unwatch(ends[0])
    poller.wait(until: .max, into: &ready)
  }

  @Test(arguments: watching)
  func `refuses what is always ready, and what is not open`(_ backEnd: BackEnd) throws {
    let poller = backEnd.makePoller()
    for path in ["/proc/self/exe", "/"] {
      let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
      defer { close(file) }
      #expect(code { () throws(SystemError) in try poller.prepare(file) } == EPERM)
      #expect(
        code { () throws(SystemError) in try poller.watch(file, for: .readable, token: 1) } == EPERM
      )
    }
    #expect(code { () throws(SystemError) in try poller.prepare(-1) } == EBADF)
  }

  @Test(arguments: watching)
  func `forgets a descriptor that was closed without a word`(_ backEnd: BackEnd) throws {
    let poller = backEnd.makePoller()
    let (one, two) = (Pipe(), Pipe())
    defer { extendLifetime((one, two)) }
    let number = dup(one.reader)
    try poller.watch(two.reader, for: .readable, token: 1)
    try poller.watch(number, for: .readable, token: 2)
    close(number)
    two.write(1)
    #expect(look(poller) == [1: .readable])
    poller.unwatch(number)
    #expect(look(poller) == [1: .readable])
  }

  @Test func `without descriptors refuses to watch, and says so before`() {
    let poller = BackEnd.futex.makePoller()
    let pipe = Pipe()
    #expect(code { () throws(SystemError) in try poller.prepare(pipe.reader) } == ENOSYS)
    #expect(
      code { () throws(SystemError) in try poller.watch(pipe.reader, for: .readable, token: 1) }
        == ENOSYS)
    #expect(code { () throws(SystemError) in _ = try poller.turnDescriptor() } == ENOSYS)
  }

  @Test func `of poll(2) has no descriptor for a host`() {
    let poller = BackEnd.poll.makePoller()
    #expect(code { () throws(SystemError) in _ = try poller.turnDescriptor() } == ENOSYS)
  }

  /// More than one epoll_wait reports.
  @Test(arguments: watching) func `loses none of many`(_ backEnd: BackEnd) throws {
    let poller = backEnd.makePoller()
    let pipes = (0..<300).map { _ in Pipe() }
    defer { extendLifetime(pipes) }
    for (token, pipe) in pipes.enumerated() {
      try poller.watch(pipe.reader, for: .readable, token: UInt64(token))
      pipe.write(1)
    }
    var seen: Set<UInt64> = []
    for _ in 0..<4 { seen.formUnion(look(poller).keys) }
    #expect(seen.count == 300)
  }

  private func look(_ poller: any Poller) -> [UInt64: Loop.Readiness] {
    var ready: [ReadyEvent] = []
    poller.wait(until: .min, into: &ready)
    return Dictionary(uniqueKeysWithValues: ready.map { ($0.token, $0.readiness) })
  }

  private func code(_ body: () throws(SystemError) -> Void) -> CInt {
    do {
      try body()
      return 0
    } catch {
      return error.code
    }
  }
}
