// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `A process that is stopped and goes on` {
  /// What a child with a running loop tells its parent by its exit code.
  private static func serve(_ socket: CInt, on loop: Loop) -> CInt {
    let code = Cell<CInt>(0)
    let interval = Duration.milliseconds(2)
    let served = Cell(Loop.Instant.distantPast)
    let fires = Counter()
    let begin = Loop.Instant.now
    let timer = loop.schedule(every: interval) { timer in
      // Each date once, on the grid, and none early: what was missed is not made up for.
      if timer.nextFire <= served.value || Loop.Instant.now < timer.nextFire { code.value = 1 }
      if begin.duration(to: timer.nextFire) / interval < Double(fires.add()) - 0.5 {
        code.value = 2
      }
      served.value = timer.nextFire
    }
    let continuous = loop.schedule(every: .milliseconds(3), base: .continuous) { _ in }
    expectWatched(loop, socket) { source, _ in
      let count = readBytes(socket, 100)
      if count > 0 { writeBytes(socket, count) }
      if count == 0 { loop.stop() }
    }
    if loop.run() != .stopped { code.value = 3 }
    for timer in [timer, continuous] { timer.invalidate() }
    return fires.value == 0 ? 4 : code.value
  }

  @Test func `serves what came meanwhile, and catches up by one firing`() async {
    await #expect(processExitsWith: .success) {
      // The sanitizers allow a child no thread but the one that forked.
      onLoopThread { loop in
        let (near, far) = Channel.socketPair.make()
        let child = test_fork()
        if child == 0 {
          close(near)
          test_exit(Self.serve(far, on: loop))
        }
        close(far)
        for round in 0..<20 * stress { stopAndGoOn(child, near, round) }
        close(near)
        let code = test_wait_for(child)
        precondition(code == 0, "the child says \(code)")
      }
    }
  }
}

private func stopAndGoOn(_ child: pid_t, _ socket: CInt, _ round: Int) {
  test_halt(child)
  writeBytes(socket, 3)
  // Some dates of its timers pass.
  let end = Loop.Instant.now.advanced(by: .milliseconds(round % 3 * 5))
  while Loop.Instant.now < end { sched_yield() }
  precondition(readBytes(socket, 1) == -1, "it ran while it was stopped")
  test_resume(child)
  var left = 3
  while left > 0 {
    var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    precondition(unsafe poll(&ready, 1, 30_000) == 1, "it hangs after \(round)")
    let count = readBytes(socket, left)
    precondition(count > 0, "it died")
    left -= count
  }
}

@Suite struct `A program started by a process with loops` {
  /// Two shells: one by fork and exec, one by posix_spawn.
  private static func runTwice(_ script: String) -> [CInt] {
    [unsafe test_fork_shell(script), unsafe test_spawn_shell(script, 0)].map(test_wait_for)
  }

  @Test func `inherits no descriptor of theirs, and no signal handler`() async {
    await #expect(processExitsWith: .success) {
      // What the test's own libraries leave open is not ours to judge.
      let list = "ls -l /proc/self/fd | grep -c anon_inode"
      let before = Self.runTwice("exit $(\(list))")
      let child = unsafe test_spawn_shell("read line", 0)
      do {
        let taker = try Loop.SignalSource(SIGUSR1) { _, _ in }
        let watcher = try Loop.ProcessSource(child) { _, _ in }
        onLoopThread { loop in
          do {
            try loop.add(taker)
            try loop.add(watcher)
          } catch {
            preconditionFailure("\(error)")
          }
          loop.schedule(after: .seconds(60), base: .continuous) { _ in }
          _ = loop.run(in: .default, for: .microseconds(1))
          test_unblock(SIGUSR1)
          let after = Self.runTwice("exit $(\(list))")
          precondition(after == before, "it has \(after) descriptors of no file, not \(before)")
          let ends = Self.runTwice("kill -USR1 $$; exit 7")
          precondition(ends == [128 + SIGUSR1, 128 + SIGUSR1], "it ended by \(ends)")
        }
        watcher.invalidate()
        taker.invalidate()
      } catch {
        preconditionFailure("\(error)")
      }
      kill(child, SIGKILL)
    }
  }
}

@Suite struct `A wall clock that is put back` {
  /// swift-corelibs-foundation: a step of 3 s back prolonged a run by 3 s. Here each look at it
  /// finds it an hour earlier, so nothing that looks can come out right.
  @Test func `is not looked at, whatever a loop does`() {
    guard test_wall_clock_reads() >= 0 else { return }
    onLoopThread { loop in
      // That it would be seen.
      test_turn_wall_clock_back(true)
      let (first, second) = (time(nil), time(nil))
      test_turn_wall_clock_back(false)
      let before = test_wall_clock_reads()
      #expect(before >= 2 && first - second > 3_000)

      let order = Cell<[String]>([])
      @Sendable func note(_ what: String) { order.update { $0.append(what) } }
      let pipe = Pipe()
      test_turn_wall_clock_back(true)
      loop.schedule(after: .milliseconds(4)) { _ in note("timer") }
      loop.schedule(after: .milliseconds(8), base: .continuous) { _ in note("continuous") }
      loop.schedule(every: .milliseconds(12), tolerance: .milliseconds(1)) { timer in
        note("repeating")
        timer.invalidate()
      }
      loop.idle.enqueue(1, key: "idle") { _, _ in
        note("idle")
        return .continue
      }
      expectWatched(loop, pipe.reader) { source, _ in
        note("descriptor")
        source.invalidate()
      }
      pipe.write(1)
      #expect(loop.run(in: .default, for: .seconds(60)) == .finished)
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .finished)
      loop.add(Loop.Source { _ in })
      #expect(loop.run(in: .default, for: .milliseconds(1)) == .timedOut)
      test_turn_wall_clock_back(false)
      #expect(order.value.sorted().count == 5)
      #expect(
        order.value.filter { !["idle", "descriptor"].contains($0) }
          == ["timer", "continuous", "repeating"])
      #expect(test_wall_clock_reads() == before)
    }
  }
}

@Suite struct `The first loop of a process` {
  /// swift-corelibs-foundation#1560: a thread-specific key was used before it was made.
  @Test func `may be that of any thread, or of eight at once`() async {
    for count in [1, 8] {
      await #expect(processExitsWith: .success) { [count = count as Int] in
        let loops = Cell<[ObjectIdentifier]>([])
        let all = DispatchSemaphore(value: 0)
        onThreads(count) { _ in
          let loop = Loop.current
          precondition(loop === Loop.current && loop.isCurrent && loop !== Loop.main.loop)
          loop.schedule(after: .microseconds(1)) { _ in
            loops.update { $0.append(ObjectIdentifier(loop)) }
          }
          precondition(loop.run() == .finished)
          // All live until all are there.
          if loops.value.count == count { for _ in 0..<count { all.signal() } }
          all.wait()
        }
        precondition(Set(loops.value).count == count)
      }
    }
  }
}

@Suite struct `A loop that nobody runs` {
  /// SwiftyTimer#35, CocoaMQTT#246: a timer of a pool's thread never fires, and nobody says why.
  @Test func `can be told from one that is run`() {
    let found = Cell<Loop?>(nil)
    let runner = LoopRunner()
    let scheduled = DispatchSemaphore(value: 0)
    let timer = Cell<Loop.Timer?>(nil)
    DispatchQueue.global().async {
      let loop = Loop.current
      timer.value = loop.schedule(after: .zero) { _ in }
      found.value = loop
      scheduled.signal()
    }
    scheduled.wait()
    #expect(found.value?.currentMode == nil)
    #expect(found.value?.isWaiting == false)
    while !runner.loop.isWaiting { sched_yield() }
    #expect(runner.loop.currentMode == .default)
    timer.value?.invalidate()
    runner.stop()
  }
}
