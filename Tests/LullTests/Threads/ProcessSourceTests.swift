// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

/// A child that does as its script says once it is let go.
private final class Child: Sendable {
  let number: CInt
  private let gate: Cell<CInt>

  init(_ script: String) {
    var ends: [CInt] = [-1, -1]
    let code = unsafe pipe2(&ends, O_CLOEXEC)
    precondition(code == 0)
    number = unsafe test_spawn_shell("read line; \(script)", ends[0])
    precondition(number > 0)
    close(ends[0])
    gate = Cell(ends[1])
  }

  deinit { letGo() }

  func letGo() {
    let end = gate.update { end in
      defer { end = -1 }
      return end
    }
    if end >= 0 { close(end) }
  }
}

/// Runs a loop until a source was handled.
private func runOnce(_ loop: Loop, _ location: SourceLocation = #_sourceLocation) {
  let result = loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true)
  #expect(result == .handledSource, sourceLocation: location)
}

@Suite struct `Process sources` {
  typealias End = Loop.ProcessSource.End

  @Test(arguments: [
    ("exit 0", End.exited(0)), ("exit 7", .exited(7)), ("exit 255", .exited(255)),
    ("kill -TERM $$", .signalled(SIGTERM, dumpedCore: false)),
    ("kill -KILL $$", .signalled(SIGKILL, dumpedCore: false)),
  ])
  func `tell how a child ended, and reap it`(script: String, end: End) {
    onLoopThread { loop in
      let child = Child(script)
      let ends = Cell<[End]>([])
      #expect(throws: Never.self) {
        try loop.add(
          Loop.ProcessSource(child.number) { source, end in
            #expect(source.process == child.number)
            #expect(!source.isValid)
            ends.update { $0.append(end) }
          })
      }
      #expect(loop.run(in: .default, for: .zero) == .timedOut)
      #expect(ends.value == [])
      child.letGo()
      runOnce(loop)
      #expect(ends.value == [end])
      #expect(test_wait_for(child.number) == -1)
      #expect(loop.run() == .finished)
    }
  }

  /// Whether a core is dumped is the machine's to say.
  @Test func `tell of a signal that dumps core`() {
    onLoopThread { loop in
      let child = Child("cd /dev; kill -QUIT $$")
      let ends = Cell<[End]>([])
      #expect(throws: Never.self) {
        try loop.add(Loop.ProcessSource(child.number) { _, end in ends.value = [end] })
      }
      child.letGo()
      runOnce(loop)
      let possible = [true, false].map { End.signalled(SIGQUIT, dumpedCore: $0) }
      #expect(ends.value.count == 1 && possible.contains(ends.value[0]))
    }
  }

  @Test func `tell of a child that had ended before`() {
    onLoopThread { loop in
      let child = Child("exit 3")
      child.letGo()
      test_until_ended(child.number)
      let ends = Cell<[End]>([])
      #expect(throws: Never.self) {
        try loop.add(Loop.ProcessSource(child.number) { _, end in ends.value = [end] })
      }
      runOnce(loop)
      #expect(ends.value == [.exited(3)])
    }
  }

  /// swift-corelibs-foundation #3113: waitUntilExit polls every 50 ms, and comes back early on
  /// another thread.
  @Test func `wake a loop that sleeps, by the end itself`() throws {
    let thread = try LoopThread()
    let wakes = Counter()
    thread.loop.observe(.afterWaiting) { _, _ in wakes.add() }
    let child = Child("exit 0")
    let ended = DispatchSemaphore(value: 0)
    try thread.loop.add(Loop.ProcessSource(child.number) { _, _ in ended.signal() })
    while !thread.loop.isWaiting { sched_yield() }
    let before = wakes.value
    child.letGo()
    #expect(ended.wait(timeout: .now() + .seconds(60)) == .success)
    while !thread.loop.isWaiting { sched_yield() }
    // Mail that was still on its way may be one more.
    #expect(wakes.value - before <= 2)
    thread.stop()
    thread.join()
  }

  @Test func `are silent while none of their modes runs, and told after`() {
    onLoopThread { loop in
      let child = Child("exit 4")
      let ends = Cell<[End]>([])
      let other = Loop.Mode("test.other")
      #expect(throws: Never.self) {
        try loop.add(Loop.ProcessSource(child.number) { _, end in ends.value = [end] })
      }
      child.letGo()
      test_until_ended(child.number)
      loop.schedule(after: .milliseconds(2), in: other) { _ in }
      #expect(loop.run(in: other) == .finished)
      #expect(ends.value == [])
      runOnce(loop)
      #expect(ends.value == [.exited(4)])
    }
  }

  @Test func `for one child, on one loop and on others, tell the same`() throws {
    let threads = try (0..<2).map { _ in try LoopThread() }
    for _ in 0..<10 * stress {
      let child = Child("exit 9")
      let ends = Cell<[End]>([])
      let heard = DispatchSemaphore(value: 0)
      for index in 0..<5 {
        let source = try Loop.ProcessSource(child.number) { _, end in
          ends.update { $0.append(end) }
          heard.signal()
        }
        try threads[index % 2].loop.add(source)
      }
      child.letGo()
      for _ in 0..<5 { #expect(heard.wait(timeout: .now() + .seconds(60)) == .success) }
      #expect(ends.value == Array(repeating: .exited(9), count: 5))
    }
    for thread in threads {
      thread.stop()
      thread.join()
    }
  }

  @Test func `for many children tell of each`() throws {
    let thread = try LoopThread()
    let count = 30 * stress
    let children = (0..<count).map { Child("exit \($0 % 200)") }
    let ends = Cell<[CInt: End]>([:])
    let heard = DispatchSemaphore(value: 0)
    for child in children {
      try thread.loop.add(
        Loop.ProcessSource(child.number) { source, end in
          ends.update { $0[source.process] = end }
          heard.signal()
        })
    }
    for child in children.shuffled() { child.letGo() }
    for _ in children { #expect(heard.wait(timeout: .now() + .seconds(60)) == .success) }
    for (index, child) in children.enumerated() {
      #expect(ends.value[child.number] == .exited(CInt(index % 200)))
    }
    thread.stop()
    thread.join()
  }

  /// The last reference to what they share may go on any thread, as another begins anew.
  @Test func `for one child come and go on several threads`() throws {
    let child = Child("exit 8")
    onThreads(4) { _ in
      for _ in 0..<2_000 * stress {
        #expect(throws: Never.self) {
          try Loop.ProcessSource(child.number) { _, _ in }.invalidate()
        }
      }
    }
    child.letGo()
    #expect(test_wait_for(child.number) == 8)
  }

  @Test func `are not called again in a nested run`() {
    onLoopThread { loop in
      let child = Child("exit 0")
      let calls = Counter()
      #expect(throws: Never.self) {
        try loop.add(
          Loop.ProcessSource(child.number) { _, _ in
            calls.add()
            _ = loop.run(in: .default, for: .zero)
          })
      }
      child.letGo()
      runOnce(loop)
      #expect(calls.value == 1)
    }
  }

  @Test func `that are invalidated earlier leave the child to be reaped`() {
    onLoopThread { loop in
      let alive = Counter()
      let child = Child("exit 6")
      do {
        let held = Tracked(alive)
        guard let source = try? Loop.ProcessSource(child.number, { _, _ in _ = held }) else {
          Issue.record("no source")
          return
        }
        #expect(throws: Never.self) { try loop.add(source) }
        child.letGo()
        test_until_ended(child.number)
        source.invalidate()
      }
      #expect(alive.value == 0)
      #expect(loop.run(in: .default, for: .zero) == .finished)
      #expect(test_wait_for(child.number) == 6)
    }
  }

  // MARK: What cannot be told

  @Test func `say so when somebody else has reaped the child`() {
    onLoopThread { loop in
      let child = Child("exit 5")
      let ends = Cell<[End]>([])
      #expect(throws: Never.self) {
        try loop.add(Loop.ProcessSource(child.number) { _, end in ends.value = [end] })
      }
      child.letGo()
      #expect(test_wait_for(child.number) == 5)
      runOnce(loop)
      #expect(ends.value == [.unknown])
    }
  }

  @Test func `never hang when somebody else waits at the same moment`() {
    for _ in 0..<10 * stress {
      onLoopThread { loop in
        let child = Child("exit 5")
        let ends = Cell<[End]>([])
        #expect(throws: Never.self) {
          try loop.add(Loop.ProcessSource(child.number) { _, end in ends.value = [end] })
        }
        let code = Cell<CInt>(0)
        let other = RealThread {
          child.letGo()
          code.value = test_wait_for(child.number)
        }
        runOnce(loop)
        other.join()
        // One of the two was told.
        #expect(ends.value == [code.value == 5 ? .unknown : .exited(5)])
      }
    }
  }

  @Test func `say so when the program ignores its children's ends`() async {
    await #expect(processExitsWith: .success) {
      _ = test_ignore(SIGCHLD)
      onLoopThread { loop in
        let child = Child("exit 5")
        guard
          let source = try? Loop.ProcessSource(
            child.number, { _, end in test_exit(end == .unknown ? 0 : 1) }),
          (try? loop.add(source)) != nil
        else { return test_exit(2) }
        loop.schedule(after: .zero) { _ in child.letGo() }
        loop.run()
        test_exit(3)
      }
    }
  }

  private func error(_ process: CInt) -> Loop.ProcessError? {
    do throws(Loop.ProcessError) {
      _ = try Loop.ProcessSource(process) { _, _ in }
      return nil
    } catch {
      return error
    }
  }

  @Test func `tell ends and errors in words`() {
    #expect("\(End.exited(3))" == "exited with 3")
    #expect("\(End.signalled(9, dumpedCore: false))" == "ended by signal 9")
    #expect("\(End.signalled(11, dumpedCore: true))" == "ended by signal 11, core dumped")
    #expect("\(End.unknown)" == "ended, reaped by somebody else")
    let error = SystemError(code: EMFILE, call: "pidfd_open")
    for (said, word) in [
      (Loop.ProcessError.noSuchProcess(7), "no process 7"), (.notAChild(7), "not a child"),
      (.exhausted(error), "no room"), (.failed(error), "pidfd_open"),
    ] {
      #expect("\(said)".contains(word))
    }
  }

  @Test func `for what is no child of ours are errors`() {
    #expect(error(getppid()) == .notAChild(getppid()))
    #expect(error(getpid()) == .notAChild(getpid()))
    for process: CInt in [0, -1, .min, .max] { #expect(error(process) == .noSuchProcess(process)) }
  }

  @Test func `without a descriptor left are errors`() async {
    await #expect(processExitsWith: .success) {
      let child = Child("exit 0")
      let open = test_open_descriptors()
      for _ in 0..<200 {
        guard let first = try? Loop.ProcessSource(child.number, { _, _ in }),
          let second = try? Loop.ProcessSource(child.number, { _, _ in })
        else { return test_exit(1) }
        // Two for one child share a descriptor.
        guard first.descriptor == second.descriptor else { return test_exit(2) }
        first.invalidate()
        guard fcntl(second.descriptor, F_GETFD) >= 0 else { return test_exit(3) }
        second.invalidate()
      }
      guard test_open_descriptors() < open + 100 else { return test_exit(4) }
      _ = test_limit_descriptors(0)
      do throws(Loop.ProcessError) {
        _ = try Loop.ProcessSource(child.number) { _, _ in }
        test_exit(5)
      } catch {
        guard case .exhausted(let cause) = error, cause.code == EMFILE else { return test_exit(6) }
      }
      test_exit(0)
    }
  }

  /// In a process of its own, since elsewhere another child may get the number. It may here too in
  /// the end, so a source that is still there says nothing of who has it now.
  @Test(arguments: [false, true])
  func `for a child that was reaped are errors`(hasSource: Bool) async {
    await #expect(processExitsWith: .success) { [hasSource = hasSource as Bool] in
      let child = Child("exit 0")
      let source = hasSource ? try? Loop.ProcessSource(child.number) { _, _ in } : nil
      guard (source != nil) == hasSource else { return test_exit(4) }
      defer { source?.invalidate() }
      child.letGo()
      guard test_wait_for(child.number) == 0 else { return test_exit(1) }
      do throws(Loop.ProcessError) {
        _ = try Loop.ProcessSource(child.number) { _, _ in }
        test_exit(2)
      } catch {
        test_exit(error == .noSuchProcess(child.number) ? 0 : 3)
      }
    }
  }
}
