// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

/// Tests run side by side, so each has a signal of its own: real-time ones, which the kernel queues
/// instead of making one of several, so that counts are exact.
@Suite struct `Signal sources` {
  private func hear(
    _ signal: CInt, _ counts: Cell<[Int]>, _ heard: DispatchSemaphore = DispatchSemaphore(value: 0)
  ) throws -> Loop.SignalSource {
    try Loop.SignalSource(signal) { source, count in
      #expect(source.signal == signal)
      counts.update { $0.append(count) }
      heard.signal()
    }
  }

  @Test func `wake a loop that sleeps`() throws {
    let runner = LoopRunner()
    let counts = Cell<[Int]>([])
    let heard = DispatchSemaphore(value: 0)
    let source = try hear(36, counts, heard)
    try runner.loop.add(source)
    for _ in 0..<20 * stress {
      runner.untilItWaits()
      kill(getpid(), 36)
      #expect(heard.wait(timeout: .now() + .seconds(30)) == .success)
    }
    source.invalidate()
    runner.stop()
    #expect(counts.value == Array(repeating: 1, count: 20 * stress))
  }

  @Test func `say how many came since they were last called`() {
    onLoopThread { loop in
      let counts = Cell<[Int]>([])
      guard let source = try? hear(37, counts) else {
        Issue.record("no source")
        return
      }
      #expect(throws: Never.self) { try loop.add(source) }
      for _ in 0..<5 { test_raise(37) }
      _ = loop.run(in: .default, for: .zero)
      _ = loop.run(in: .default, for: .zero)
      test_raise(37)
      let result = loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true)
      #expect(result == .handledSource)
      #expect(counts.value == [5, 1])
      source.invalidate()
    }
  }

  @Test func `for one signal on several loops all hear of it`() throws {
    let runners = (0..<3).map { _ in LoopRunner() }
    let counts = (0..<6).map { _ in Cell<[Int]>([]) }
    let heard = DispatchSemaphore(value: 0)
    let sources = try counts.map { try hear(38, $0, heard) }
    for (index, source) in sources.enumerated() { try runners[index % 3].loop.add(source) }
    kill(getpid(), 38)
    for _ in sources { #expect(heard.wait(timeout: .now() + .seconds(30)) == .success) }
    sources[0].invalidate()
    kill(getpid(), 38)
    for _ in 1..<6 { #expect(heard.wait(timeout: .now() + .seconds(30)) == .success) }
    for source in sources { source.invalidate() }
    for runner in runners { runner.stop() }
    #expect(counts.map(\.value) == [[1]] + Array(repeating: [1, 1], count: 5))
  }

  @Test func `are silent while none of their modes runs, and told after`() {
    onLoopThread { loop in
      let counts = Cell<[Int]>([])
      guard let source = try? hear(39, counts) else {
        Issue.record("no source")
        return
      }
      #expect(throws: Never.self) { try loop.add(source) }
      let other = Loop.Mode("test.other")
      loop.schedule(after: .milliseconds(2), in: other) { _ in }
      test_raise(39)
      #expect(loop.run(in: other) == .finished)
      test_raise(39)
      #expect(counts.value == [])
      _ = loop.run(in: .default, for: .zero)
      #expect(counts.value == [2])
      source.invalidate()
    }
  }

  @Test func `can be muted, and count meanwhile`() {
    onLoopThread { loop in
      let counts = Cell<[Int]>([])
      guard let source = try? hear(40, counts) else {
        Issue.record("no source")
        return
      }
      #expect(throws: Never.self) { try loop.add(source) }
      source.interest = []
      for _ in 0..<3 { test_raise(40) }
      _ = loop.run(in: .default, for: .zero)
      #expect(counts.value == [])
      source.interest = .readable
      _ = loop.run(in: .default, for: .zero)
      #expect(counts.value == [3])
      source.invalidate()
    }
  }

  @Test func `that outlive their loop can be added to another`() throws {
    let counts = Cell<[Int]>([])
    let heard = DispatchSemaphore(value: 0)
    let source = try hear(46, counts, heard)
    for _ in 0..<2 {
      let thread = try LoopThread()
      try thread.loop.add(source)
      test_raise(46)
      #expect(heard.wait(timeout: .now() + .seconds(30)) == .success)
      thread.stop()
      thread.join()
    }
    #expect(source.isValid)
    #expect(counts.value == [1, 1])
    source.invalidate()
  }

  // MARK: What becomes of the signal

  @Test func `put back what there was when the last goes`() throws {
    let handler: @convention(c) (CInt) -> Void = { _ in }
    #expect(test_disposition(41, handler) == 0)
    do {
      // Freed: that ends it too.
      let source = try Loop.SignalSource(41) { _, _ in }
      #expect(test_disposition(source.signal, handler) == 3)
    }
    #expect(test_disposition(41, handler) == 0)

    for before: CInt in [1, 2] {
      #expect((before == 1 ? test_ignore(41) : test_handle(41, handler)) == 0)
      let first = try Loop.SignalSource(41) { _, _ in }
      let second = try Loop.SignalSource(41) { _, _ in }
      first.invalidate()
      #expect(test_disposition(41, handler) == 3)
      second.invalidate()
      #expect(test_disposition(41, handler) == before)
    }
  }

  @Test func `leave alone a handler that came after them`() throws {
    let handler: @convention(c) (CInt) -> Void = { _ in }
    let source = try Loop.SignalSource(42) { _, _ in }
    #expect(test_handle(42, handler) == 0)
    source.invalidate()
    #expect(test_disposition(42, handler) == 2)
  }

  /// A library that takes a signal for a while puts back what it found: us, who had left.
  @Test func `that find their own handler remember what was there before it`() throws {
    let handler: @convention(c) (CInt) -> Void = { _ in }
    #expect(test_handle(47, handler) == 0)
    var found = sigaction()
    let first = try Loop.SignalSource(47) { _, _ in }
    #expect(unsafe sigaction(47, nil, &found) == 0)
    #expect(test_ignore(47) == 0)
    first.invalidate()
    #expect(unsafe sigaction(47, &found, nil) == 0)
    let second = try Loop.SignalSource(47) { _, _ in }
    second.invalidate()
    #expect(test_disposition(47, handler) == 2)
  }

  @Test func `change no errno and interrupt no read`() throws {
    let source = try Loop.SignalSource(43) { _, _ in }
    #expect(test_errno_after(43) == 123)

    var ends: [CInt] = [-1, -1]
    #expect(unsafe pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    let result = Cell<CInt>(0)
    let id = Cell<pid_t>(0)
    let thread = RealThread {
      test_unblock(43)
      id.value = gettid()
      result.value = test_read_byte(reader)
    }
    while id.value == 0 || !isBlocked(id.value) { sched_yield() }
    for _ in 0..<10 { thread.signal(43) }
    writeBytes(writer, 1)
    thread.join()
    #expect(result.value == 1)
    source.invalidate()
    close(reader)
    close(writer)
  }

  // MARK: What cannot be

  @Test func `for what no program can take are errors`() {
    func error(_ signal: CInt) -> Loop.SignalError? {
      do throws(Loop.SignalError) {
        _ = try Loop.SignalSource(signal) { _, _ in }
        return nil
      } catch {
        return error
      }
    }
    for signal in [SIGKILL, SIGSTOP] { #expect(error(signal) == .cannotBeCaught(signal)) }
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT] {
      #expect(error(signal) == .programFault(signal))
    }
    // The C library keeps 32 and 33 for itself.
    for signal: CInt in [0, -1, 65, 1_000_000, 32, 33] {
      #expect(error(signal) == .notASignal(signal))
    }
    #expect("\(Loop.SignalError.programFault(11))".contains("sigaction"))
  }

  @Test func `without a descriptor left are errors, and change nothing`() async {
    await #expect(processExitsWith: .success) {
      let handler: @convention(c) (CInt) -> Void = { _ in }
      let open = test_open_descriptors()
      for _ in 0..<200 {
        guard let source = try? Loop.SignalSource(SIGUSR1, { _, _ in }) else { return test_exit(1) }
        source.invalidate()
      }
      guard test_open_descriptors() < open + 100 else { return test_exit(2) }
      _ = test_limit_descriptors(0)
      do throws(Loop.SignalError) {
        _ = try Loop.SignalSource(SIGUSR1) { _, _ in }
        test_exit(3)
      } catch {
        guard case .exhausted(let cause) = error, cause.code == EMFILE else { return test_exit(4) }
      }
      test_exit(test_disposition(SIGUSR1, handler) == 0 ? 0 : 5)
    }
  }

  // MARK: Many at once

  @Test func `come and go under a storm of signals`() throws {
    let isDone = Cell(false)
    let counted = Counter()
    let all = DispatchSemaphore(value: 0)
    let sent = 2_000 * stress
    let runner = LoopRunner()
    let source = try Loop.SignalSource(44) { _, count in
      if counted.add(count) == sent { all.signal() }
    }
    try runner.loop.add(source)
    let comers = (0..<2).map { _ in
      RealThread {
        while !isDone.value {
          guard let passing = try? Loop.SignalSource(44, { _, _ in }) else {
            Issue.record("no source")
            return
          }
          passing.invalidate()
          // The next file to get the number must not be written to.
          let other = Pipe()
          #expect(other.read(1) == -1)
        }
      }
    }
    for _ in 0..<sent { test_raise(44) }
    #expect(all.wait(timeout: .now() + .seconds(60)) == .success)
    isDone.value = true
    for comer in comers { comer.join() }
    source.invalidate()
    runner.stop()
    #expect(counted.value == sent)
  }

  @Test func `are invalidated on any thread as they are called`() throws {
    // The signal must have a taker throughout: its default is to end the process.
    let keeper = try Loop.SignalSource(45) { _, _ in }
    for round in 0..<100 * stress {
      let alive = Counter()
      let runner = LoopRunner()
      do {
        let held = Tracked(alive)
        let source = try Loop.SignalSource(45) { _, _ in _ = held }
        try runner.loop.add(source)
        var dice = Dice(seed: round)
        for _ in 0..<3 { test_raise(45) }
        dice.dawdle(100)
        source.invalidate()
      }
      runner.onLoop {}
      #expect(alive.value == 0)
      runner.stop()
    }
    keeper.invalidate()
  }

  @Test func `go on in a child made by fork, with its own signals`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { loop in
        let counts = Cell<[Int]>([])
        guard
          let source = try? Loop.SignalSource(
            SIGUSR2, { _, count in counts.update { $0.append(count) } }),
          (try? loop.add(source)) != nil
        else { return test_exit(1) }
        // One for the parent: the child does not inherit it.
        test_raise(SIGUSR2)
        let child = test_fork()
        if child == 0 {
          _ = loop.run(in: .default, for: .zero)
          if counts.value != [] { return test_exit(2) }
          for _ in 0..<3 { test_raise(SIGUSR2) }
          _ = loop.run(in: .default, for: .zero)
          source.invalidate()
          let handler: @convention(c) (CInt) -> Void = { _ in }
          if test_disposition(SIGUSR2, handler) != 0 { return test_exit(3) }
          // After a fork the thread sanitizer puts handlers off, and makes one of several.
          let all = isSanitized ? [[1], [3]] : [[3]]
          return test_exit(all.contains(counts.value) ? 0 : 4)
        }
        let code = test_wait_for(child)
        if code != 0 { return test_exit(code) }
        _ = loop.run(in: .default, for: .zero)
        test_exit(counts.value == [1] ? 0 : 5)
      }
    }
  }
}
