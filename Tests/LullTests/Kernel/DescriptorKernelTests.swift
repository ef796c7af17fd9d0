// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

/// A thing with two descriptors: what is written to one comes out of the other.
struct Channel: CustomStringConvertible, Sendable {
  let description: String
  let make: @Sendable () -> (reader: CInt, writer: CInt)

  static let pipe = Channel(description: "pipe") {
    var ends: [CInt] = [-1, -1]
    unsafe pipe2(&ends, O_NONBLOCK | O_CLOEXEC)
    return (ends[0], ends[1])
  }
  static let socketPair = Channel(description: "socket pair") {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    unsafe socketpair(AF_UNIX, kind, 0, &ends)
    return (ends[0], ends[1])
  }
  static let terminal = Channel(description: "pseudo-terminal") {
    var (controller, terminal): (CInt, CInt) = (-1, -1)
    let code = unsafe test_open_terminal(&controller, &terminal)
    precondition(code == 0, "no pseudo-terminal")
    for end in [controller, terminal] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
    return (terminal, controller)
  }
}

/// Watches, where a failure is the test's.
@discardableResult
func expectWatched(
  _ loop: Loop, _ descriptor: CInt, for interest: Loop.Readiness = .readable,
  in mode: Loop.Mode = .default, at location: SourceLocation = #_sourceLocation,
  _ handler: @escaping Loop.DescriptorSource.Handler
) -> Loop.DescriptorSource? {
  do {
    return try loop.watch(descriptor, for: interest, in: mode, handler)
  } catch {
    Issue.record("\(error)", sourceLocation: location)
    return nil
  }
}

@Suite struct `A descriptor of the kernel` {
  private typealias Calls = Cell<[Loop.Readiness]>
  private static let other = Loop.Mode("test.other")

  @Test(arguments: [Channel.pipe, .socketPair, .terminal])
  func `delivers every byte`(of channel: Channel) {
    let (reader, writer) = channel.make()
    defer { for end in [reader, writer] { close(end) } }
    let total = 20_000
    onLoopThread { loop in
      let got = Counter()
      expectWatched(loop, reader) { source, ready in
        #expect(ready == .readable)
        if got.add(max(0, readBytes(reader, 100))) >= total { source.invalidate() }
      }
      let feeder = RealThread {
        var left = total
        while left > 0 {
          let count = writeBytes(writer, min(left, 1 + left % 64))
          if count > 0 { left -= count } else { sched_yield() }
        }
      }
      #expect(loop.run() == .finished)
      #expect(got.value == total)
      feeder.join()
    }
  }

  /// CFRunLoop reads eight of the bytes itself and calls once.
  @Test func `is called in each pass until everything is read`() {
    let pipe = Pipe()
    pipe.write(40)
    onLoopThread { loop in
      let calls = Calls([])
      let read = Counter()
      expectWatched(loop, pipe.reader) { _, ready in
        calls.update { $0.append(ready) }
        // The first three calls leave it all there.
        if calls.value.count > 3 { read.add(pipe.read(10)) }
        if read.value == 40 { loop.stop() }
      }
      #expect(loop.run() == .stopped)
      #expect(calls.value == Array(repeating: .readable, count: 7))
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(calls.value.count == 7)
    }
  }

  @Test(arguments: [Channel.pipe, .socketPair])
  func `tells of a hang-up, and reads the end`(of channel: Channel) {
    let (reader, writer) = channel.make()
    defer { close(reader) }
    writeBytes(writer, 3)
    close(writer)
    onLoopThread { loop in
      let reads = Cell<[Int]>([])
      expectWatched(loop, reader) { source, ready in
        #expect(ready == [.readable, .hangUp])
        reads.update { $0.append(readBytes(reader, 10)) }
        if reads.value.last == 0 { source.invalidate() }
      }
      #expect(loop.run() == .finished)
      #expect(reads.value == [3, 0])
    }
  }

  @Test func `is writable while there is room`() {
    let pipe = Pipe()
    onLoopThread { loop in
      let written = Counter()
      expectWatched(loop, pipe.writer, for: .writable) { _, ready in
        #expect(ready == .writable)
        written.add(max(0, writeBytes(pipe.writer, 4_096)))
      }
      while loop.run(in: .default, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
      // Full: it is called no more until somebody reads.
      #expect(written.value == Int(fcntl(pipe.writer, F_GETPIPE_SZ)))
      #expect(pipe.read(8_192) == 8_192)
      let result = loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true)
      #expect(result == .handledSource)
    }
  }

  @Test func `tells a writer that nobody reads any more`() {
    let (reader, writer) = Channel.pipe.make()
    close(reader)
    defer { close(writer) }
    onLoopThread { loop in
      let calls = Calls([])
      expectWatched(loop, writer, for: .writable) { source, ready in
        calls.update { $0.append(ready) }
        source.invalidate()
      }
      #expect(loop.run() == .finished)
      #expect(calls.value == [[.writable, .error]])
    }
  }

  @Test func `serves sources of other interests in other modes`() {
    let (near, far) = Channel.socketPair.make()
    defer { for end in [near, far] { close(end) } }
    writeBytes(far, 1)
    onLoopThread { loop in
      let seen = Cell<[String]>([])
      @Sendable func note(_ name: String, _ ready: Loop.Readiness) {
        seen.update { $0.append("\(name) \(ready)") }
      }
      func run(in mode: Loop.Mode) -> [String] {
        seen.value = []
        _ = loop.run(in: mode, for: .zero)
        return seen.value
      }
      expectWatched(loop, near) { note("reader", $1) }
      expectWatched(loop, near, for: .writable) { note("writer", $1) }
      let both = expectWatched(loop, near, for: [.readable, .writable], in: Self.other) {
        note("both", $1)
      }
      #expect(run(in: .default) == ["reader [readable]", "writer [writable]"])
      #expect(run(in: Self.other) == ["both [readable, writable]"])
      both?.invalidate()
      #expect(run(in: .default) == ["reader [readable]", "writer [writable]"])
    }
  }

  @Test func `follows the interest that its handler changes`() {
    let (near, far) = Channel.socketPair.make()
    defer { for end in [near, far] { close(end) } }
    writeBytes(far, 1)
    onLoopThread { loop in
      let calls = Calls([])
      expectWatched(loop, near) { source, ready in
        calls.update { $0.append(ready) }
        switch calls.value.count {
        case 1: source.interest = .writable
        case 2: source.interest = [.readable, .writable]
        case 3: source.interest = []
        default: Issue.record("called without interest")
        }
      }
      for _ in 0..<5 { _ = loop.run(in: .default, for: .zero) }
      #expect(calls.value == [.readable, .writable, [.readable, .writable]])
    }
  }

  @Test func `follows the interest that another thread changes as events come`() {
    let pipe = Pipe()
    let read = Counter()
    let runner = LoopRunner()
    let total = 1_000 * stress
    let allRead = DispatchSemaphore(value: 0)
    let source = expectWatched(runner.loop, pipe.reader) { _, _ in
      if read.add(max(0, pipe.read(1))) == total { allRead.signal() }
    }
    for _ in 0..<total {
      source?.interest = []
      pipe.write(1)
      source?.interest = .readable
    }
    #expect(allRead.wait(timeout: .now() + .seconds(30)) == .success)
    runner.stop()
  }

  @Test func `without interest is silent even on a hang-up, and tells of it with one`() {
    let pipe = Pipe()
    let calls = Calls([])
    let passes = Counter()
    let called = DispatchSemaphore(value: 0)
    let runner = LoopRunner { loop in loop.observe(.beforeTimers) { _, _ in passes.add() } }
    let source = expectWatched(runner.loop, pipe.reader, for: []) { source, ready in
      calls.update { $0.append(ready) }
      source.interest = []
      called.signal()
    }
    runner.onLoop {}
    runner.untilItWaits()
    let before = passes.value
    pipe.write(1)
    pipe.closeWriter()
    runner.onLoop {}
    #expect(passes.value - before <= 2)
    #expect(calls.value.isEmpty)
    source?.interest = .readable
    #expect(called.wait(timeout: .now() + .seconds(30)) == .success)
    runner.onLoop {}
    #expect(calls.value == [[.readable, .hangUp]])
    runner.stop()
  }

  @Test func `of a mode that does not run costs no wake-ups, and is served when it does`() {
    let pipe = Pipe()
    let passes = Counter()
    let calls = Counter()
    let runner = LoopRunner { loop in
      loop.observe(.beforeTimers) { _, _ in passes.add() }
      expectWatched(loop, pipe.reader, in: Self.other) { _, _ in
        if calls.add() == 1 { _ = pipe.read(100) }
      }
    }
    runner.untilItWaits()
    pipe.write(1)
    pipe.closeWriter()
    // Awake once, it finds that it wants nothing of this.
    runner.onLoop {}
    expectNoPassesButForPosts(runner, passes)
    #expect(calls.value == 0)
    runner.onLoop {
      _ = runner.loop.run(in: Self.other, for: .seconds(60), returnAfterSourceHandled: true)
    }
    #expect(calls.value == 1)
    runner.stop()
  }

  @Test func `comes back whichever mode was run between`() {
    let pipe = Pipe()
    pipe.write(1)
    onLoopThread { loop in
      let calls = Counter()
      loop.add(Loop.Source { _ in }, to: Self.other)
      expectWatched(loop, pipe.reader) { _, _ in calls.add() }
      for round in 1...5 {
        for _ in 0..<3 { _ = loop.run(in: Self.other, for: .microseconds(1)) }
        _ = loop.run(in: .default, for: .zero)
        #expect(calls.value == round)
      }
    }
  }

  @Test func `that is a file, a folder or closed is refused from any thread`() {
    let file = unsafe open("/proc/self/exe", O_RDONLY)
    let folder = unsafe open("/", O_RDONLY)
    defer { for descriptor in [file, folder] { close(descriptor) } }
    let runner = LoopRunner()
    func expectRefused(
      _ interest: Loop.Readiness, _ descriptor: CInt, _ error: Loop.DescriptorError
    ) {
      let source = Loop.DescriptorSource(descriptor, for: interest) { _, _ in }
      #expect(throws: error) { try runner.loop.add(source) }
      onLoopThread { loop in
        #expect(throws: error) { try loop.add(source) }
        #expect(throws: error) { try loop.add(source, to: .common) }
        #expect(loop.run() == .finished)
      }
    }
    for interest in [Loop.Readiness.readable, .writable, []] {
      expectRefused(interest, file, .notPollable(file))
      expectRefused(interest, folder, .notPollable(folder))
      expectRefused(interest, 999_999, .notOpen(999_999))
    }
    #expect("\(Loop.DescriptorError.notPollable(5))".contains("regular file"))
    #expect("\(Loop.DescriptorError.notOpen(5))".contains("5 is not open"))
    runner.stop()
  }

  @Test func `whose number stands for another file now is served`() {
    onLoopThread { loop in
      let calls = Counter()
      // The first source stays, though its file is gone.
      let first = Pipe()
      let number = dup(first.reader)
      expectWatched(loop, number) { _, _ in }
      let second = Pipe()
      // In one step: a number that is free for a moment may be taken by another test.
      #expect(dup2(second.reader, number) == number)
      second.write(1)
      expectWatched(loop, number) { _, _ in calls.add(second.read(10)) }
      _ = loop.run(in: .default, for: .zero)
      #expect(calls.value == 1)
      close(number)
    }
  }

  /// The kernel goes on to report a file that a child or a copy has open, and cannot be told to
  /// stop.
  @Test func `that was closed too early does not keep the loop awake`() {
    let pipe = Pipe()
    let number = dup(pipe.reader)
    let passes = Counter()
    let runner = LoopRunner { loop in loop.observe(.beforeTimers) { _, _ in passes.add() } }
    let source = expectWatched(runner.loop, number) { _, _ in Issue.record("called when invalid") }
    runner.onLoop {
      close(number)
      source?.invalidate()
    }
    pipe.write(1)
    for _ in 0..<10 { runner.onLoop {} }
    expectNoPassesButForPosts(runner, passes)
    // What is watched besides goes on.
    let second = Pipe()
    let called = DispatchSemaphore(value: 0)
    expectWatched(runner.loop, second.reader) { source, _ in
      source.invalidate()
      called.signal()
    }
    second.write(1)
    #expect(called.wait(timeout: .now() + .seconds(30)) == .success)
    runner.stop()
  }

  @Test func `among hundreds that are ready gets its turn`() {
    let pipes = (0..<300).map { _ in Pipe() }
    for pipe in pipes { pipe.write(1) }
    onLoopThread { loop in
      let calls = Cell([Int](repeating: 0, count: pipes.count))
      for (number, pipe) in pipes.enumerated() {
        expectWatched(loop, pipe.reader) { _, _ in calls.update { $0[number] += 1 } }
      }
      // Nobody reads: all stay ready, more than one wait can report.
      for _ in 0..<9 { _ = loop.run(in: .default, for: .zero) }
      #expect(calls.value.allSatisfy { $0 >= 2 })
    }
  }
}

/// Posts a hundred times to a loop that sleeps: a pass for each, and at most one more that the
/// poster's own haste can cause.
private func expectNoPassesButForPosts(
  _ runner: LoopRunner, _ passes: Counter, _ location: SourceLocation = #_sourceLocation
) {
  runner.untilItWaits()
  let before = passes.value
  for _ in 0..<100 {
    runner.onLoop {}
    runner.untilItWaits()
  }
  #expect(passes.value - before <= 200, sourceLocation: location)
}
