// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Synchronization
import Testing

/// What the handlers below touch, made before a signal can come.
private enum Handled {
  static let loop = Cell<Loop?>(nil)
  nonisolated(unsafe) static var stopped: Loop?
  static let signals = Atomic<Int>(0)
}

private func stopInHandler(_ signal: CInt) {
  Handled.signals.wrappingAdd(1, ordering: .relaxed)
  unsafe Handled.stopped?.stop()
}

private func wakeInHandler(_ signal: CInt) {
  Handled.signals.wrappingAdd(1, ordering: .relaxed)
  unsafe Handled.stopped?.wakeUp()
}

private func countInHandler(_ signal: CInt) {
  Handled.signals.wrappingAdd(1, ordering: .relaxed)
}

@Suite struct `A signal handler` {
  /// opencflite #26 deadlocks on its own lock.
  @Test func `may stop the loop it interrupts, 10 000 times`() async {
    await #expect(processExitsWith: .success) {
      let rounds = 10_000
      _ = Handled.signals.load(ordering: .relaxed)
      let isReady = DispatchSemaphore(value: 0)
      let stopped = DispatchSemaphore(value: 0)
      let thread = RealThread {
        let loop = Loop.current
        loop.add(Loop.Source { _ in })
        loop.schedule(every: .microseconds(150)) { _ in loop.perform {} }
        unsafe Handled.stopped = loop
        test_handle(SIGUSR1, stopInHandler)
        // Dispatch blocks signals in its workers, and a thread they make inherits that.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGUSR1)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        isReady.signal()
        for _ in 0..<rounds {
          precondition(loop.run() == .stopped)
          stopped.signal()
        }
      }
      isReady.wait()
      var dice = Dice(seed: 1)
      for round in 0..<rounds {
        thread.signal(SIGUSR1)
        precondition(stopped.wait(timeout: .now() + .seconds(20)) == .success, "lost \(round)")
        if round % 4 == 0 { dice.dawdle(200) }
      }
      thread.join()
      precondition(Handled.signals.load(ordering: .relaxed) == rounds)
    }
  }

  @Test func `may wake the loop while others post to it`() async {
    await #expect(processExitsWith: .success) {
      let runner = LoopRunner()
      _ = Handled.signals.load(ordering: .relaxed)
      unsafe Handled.stopped = runner.loop
      test_handle(SIGALRM, wakeInHandler)
      test_alarm_every(100)
      let posted = Counter()
      onThreads(2) { _ in
        for _ in 0..<20_000 { runner.loop.perform { posted.add() } }
      }
      while Handled.signals.load(ordering: .relaxed) < 1_000 { sched_yield() }
      test_alarm_every(0)
      runner.onLoop {}
      precondition(posted.value == 40_000)
      runner.stop()
    }
  }

  /// A signal that wakes nobody on purpose is no event: the wait goes on to its end.
  @Test func `of 2 kHz on the loop's thread makes a timer neither early nor late, and no pass`()
    async
  {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) {
      _ = Handled.signals.load(ordering: .relaxed)
      test_handle(SIGALRM, countInHandler)
      onLoopThread { loop in
        let wakes = Counter()
        loop.observe(.afterWaiting) { _, _ in wakes.add() }
        test_unblock(SIGALRM)
        precondition(test_storm(500) == 0)
        let isEarly = Cell(false)
        let delays = [100, 400, 1_000 + min(4_000, 100 * stress)]
        for delay in delays {
          let due = Loop.Instant.now.advanced(by: .milliseconds(delay))
          loop.schedule(at: due) { _ in if Loop.Instant.now < due { isEarly.value = true } }
        }
        // In the other direction, it would run first if the storm held the timer up.
        precondition(loop.run() == .finished)
        test_storm(0)
        precondition(!isEarly.value, "a timer fired early")
        precondition(wakes.value == 3, "\(wakes.value) wake-ups for three timers")
        // Where the machine is busy the kernel makes one of several.
        let signals = Handled.signals.load(ordering: .relaxed)
        precondition(signals > delays[2] / 4, "\(signals) signals are no storm")
        report("\(signals) signals in \(delays[2]) ms, and 3 wake-ups for 3 timers")
      }
    }
    report(of: result)
  }

  /// Every system call that can be interrupted is made again.
  @Test func `of 2 kHz fails nothing`() async {
    await #expect(processExitsWith: .success) {
      _ = Handled.signals.load(ordering: .relaxed)
      test_handle(SIGALRM, countInHandler)
      test_alarm_every(500)
      onThreads(2) { seed in
        test_unblock(SIGALRM)
        precondition(test_storm(500) == 0)
        let (signal, arrived) = (47 + CInt(seed), Counter())
        do {
          for round in 0..<100 * stress {
            let thread = try LoopThread()
            let pipe = Pipe()
            let timer = thread.loop.schedule(every: .microseconds(100), base: .continuous) { _ in }
            try thread.loop.watch(pipe.reader, for: .readable) { source, _ in
              source.invalidate()
              arrived.add()
              thread.stop()
            }
            let taker = try Loop.SignalSource(signal) { _, _ in }
            try thread.loop.add(taker)
            let child = round % 10 == 0 ? unsafe test_spawn_shell("exit 3", 0) : 0
            pipe.write(1)
            thread.join()
            taker.invalidate()
            timer.invalidate()
            guard child > 0 else { continue }
            let loop = Loop.current
            try loop.add(
              Loop.ProcessSource(child) { _, end in
                precondition(end == .exited(3))
                arrived.add(0)
              })
            precondition(loop.run() == .finished)
          }
        } catch {
          preconditionFailure("\(error)")
        }
        test_storm(0)
        precondition(arrived.value == 100 * stress)
      }
      test_alarm_every(0)
      precondition(Handled.signals.load(ordering: .relaxed) > 10)
    }
  }

  @Test(arguments: [ENOSYS, EPERM])
  func `or a sandbox that refuses epoll_pwait2 leaves timers in order`(error: CInt) async {
    await #expect(processExitsWith: .success) { [error = error as CInt] in
      precondition(unsafe test_refuse("epoll_pwait2", error) == 0)
      onLoopThread { loop in
        let wakes = Counter()
        let order = Cell<[Int]>([])
        loop.observe(.afterWaiting) { _, _ in wakes.add() }
        for number in 1...3 {
          loop.schedule(after: .milliseconds(5 * number)) { _ in order.update { $0.append(number) }
          }
        }
        precondition(loop.run() == .finished)
        precondition(order.value == [1, 2, 3])
        precondition(wakes.value <= 3, "\(wakes.value) wake-ups for three timers")
      }
    }
  }
}
