// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

/// Processes that have no descriptor left, or one, two or three: every call that makes one fails
/// somewhere among them (swift-corelibs-foundation#3580, where the run loop ends in a trap).
@Suite struct `Without descriptors a loop` {
  /// Leaves room for so many more descriptors, whatever numbers are taken.
  static func leave(_ free: Int) -> [CInt] {
    // A thread that starts up may close one that it had for a moment.
    precondition(test_wait_until_others_sleep(), "the process has a thread that never sleeps")
    test_limit_descriptors(256)
    var taken: [CInt] = []
    while true {
      let number = dup(0)
      if number < 0 { break }
      taken.append(number)
    }
    for _ in 0..<free { close(taken.removeLast()) }
    return taken
  }

  static func expectExhausted(_ body: () throws(Loop.DescriptorError) -> Void) {
    do {
      try body()
      preconditionFailure("it should have thrown")
    } catch {
      guard case .exhausted = error else { preconditionFailure("\(error)") }
    }
  }

  @Test func `is made and runs, with timers, posts, stops and wake-ups`() async {
    await #expect(processExitsWith: .success) {
      for free in 0..<4 {
        let taken = Self.leave(free)
        let order = Cell<[Int]>([])
        onLoopThread { loop in
          loop.schedule(after: .milliseconds(1)) { _ in order.update { $0.append(1) } }
          loop.schedule(after: .milliseconds(2), base: .continuous) { _ in
            order.update { $0.append(2) }
          }
          loop.schedule(after: .milliseconds(3)) { _ in order.update { $0.append(3) } }
          precondition(loop.run() == .finished)
          precondition(order.value == [1, 2, 3], "\(free) free: \(order.value)")

          // The clock that counts suspend alone, with none but its own timer to wait for.
          loop.schedule(after: .milliseconds(1), base: .continuous) { _ in
            order.update { $0.append(4) }
          }
          precondition(loop.run() == .finished)

          let source = Loop.Source { _ in loop.stop() }
          loop.add(source)
          RealThread {
            while !loop.isWaiting { sched_yield() }
            loop.perform { source.signal() }
          }.join(whileRunning: loop)
        }
        precondition(order.value == [1, 2, 3, 4], "fired as \(order.value)")
        for number in taken { close(number) }
      }
    }
  }

  @Test func `loses no post on its futex`() async {
    await #expect(processExitsWith: .success) {
      let taken = Self.leave(0)
      let runner = LoopRunner()
      let count = Counter()
      onThreads(2) { seed in
        var dice = Dice(seed: seed)
        let arrived = DispatchSemaphore(value: 0)
        for _ in 0..<5_000 {
          runner.loop.perform {
            count.add()
            arrived.signal()
          }
          precondition(arrived.wait(timeout: .now() + .seconds(30)) == .success, "slept over")
          dice.dawdle(200)
        }
      }
      precondition(count.value == 10_000)
      runner.stop()
      for number in taken { close(number) }
    }
  }

  /// What wakes it may have looked for its descriptors just before it had them.
  @Test(.enabled(if: BackEnd.forced == nil))
  func `hears as a guest what is posted while it gets its descriptors`() async {
    await #expect(processExitsWith: .success) {
      let (round, done) = (Counter(), Counter())
      let rounds = 2_000 * stress
      let loops = Cell<Loop?>(nil)
      let poster = RealThread {
        for next in 1...rounds {
          while round.value < next {}
          loops.value!.perform {}
          done.add()
        }
      }
      test_limit_descriptors(256)
      for next in 1...rounds {
        RealThread {
          var taken: [CInt] = []
          while let number = Optional(dup(0)), number >= 0 { taken.append(number) }
          let loop = Loop.current
          loop.add(Loop.Source { _ in })
          loop.turn()
          for number in taken { close(number) }
          loops.value = loop
          round.add()
          var wanted = try! pollfd(fd: loop.pollDescriptor, events: Int16(POLLIN), revents: 0)
          precondition(unsafe poll(&wanted, 1, 30_000) == 1, "slept over in round \(next)")
          loop.endTurns()
        }.join()
        while done.value < next { sched_yield() }
      }
      poster.join()
    }
  }

  @Test func `refuses a descriptor source from any thread, and takes it when there is room`() async
  {
    await #expect(processExitsWith: .success) {
      let pipe = Pipe()
      pipe.write(1)
      // An epoll and an eventfd, or the latter for poll(2).
      for free in 0..<(BackEnd.forced == .poll ? 1 : 2) {
        let taken = Self.leave(free)
        let called = DispatchSemaphore(value: 0)
        let source = Loop.DescriptorSource(pipe.reader, for: .readable) { source, _ in
          source.invalidate()
          called.signal()
        }
        let runner = LoopRunner()
        Self.expectExhausted { () throws(Loop.DescriptorError) in try runner.loop.add(source) }
        runner.onLoop {
          Self.expectExhausted { () throws(Loop.DescriptorError) in try runner.loop.add(source) }
          precondition(!runner.loop.contains(source, in: .default))
        }
        for number in taken { close(number) }
        runner.untilItWaits()
        do { try runner.loop.add(source) } catch { preconditionFailure("\(error)") }
        precondition(called.wait(timeout: .now() + .seconds(30)) == .success)
        runner.stop()
      }
    }
  }
}

/// Every call that makes a descriptor or wants room in the kernel, refused with every error that
/// means exhaustion.
@Suite struct `Where the kernel has no room for` {
  struct Refusal: Codable, Sendable, CustomTestStringConvertible {
    let call: String
    let error: CInt
    var testDescription: String { "\(call), \(SystemError(code: error, call: call))" }

    func begin() {
      precondition(unsafe test_refuse(call, error) == 0, "no sandbox")
    }
    static func all(_ calls: [String]) -> [Refusal] {
      calls.flatMap { call in
        [EMFILE, ENFILE, ENOMEM, ENOSPC].map { Refusal(call: call, error: $0) }
      }
    }
  }

  /// What a loop calls on the back end that the tests are run on.
  static let calls: [String] = {
    let common = ["eventfd2", "timerfd_create"]
    return BackEnd.forced == .poll ? common : common + ["epoll_create1", "epoll_ctl"]
  }()

  @Test(arguments: Refusal.all(calls))
  func `it, a loop runs, refuses descriptors and keeps none`(_ refusal: Refusal) async {
    await #expect(processExitsWith: .success) { [refusal = refusal as Refusal] in
      let pipe = Pipe()
      refusal.begin()
      let onlyTimer = refusal.call == "timerfd_create"
      func use() {
        let order = Cell<[Int]>([])
        onLoopThread { loop in
          loop.schedule(after: .milliseconds(1)) { _ in order.update { $0.append(1) } }
          loop.schedule(after: .milliseconds(3), base: .continuous) { _ in
            order.update { $0.append(2) }
          }
          precondition(loop.run() == .finished)
          let source = Loop.Source { _ in }
          loop.add(source)
          RealThread {
            while !loop.isWaiting { sched_yield() }
            loop.perform { loop.stop() }
          }.join(whileRunning: loop)
          for _ in 0..<10 {
            let source = Loop.DescriptorSource(pipe.reader, for: .readable) { _, _ in }
            do throws(Loop.DescriptorError) {
              try loop.add(source)
              precondition(onlyTimer)
            } catch {
              guard case .exhausted(let cause) = error, cause.code == refusal.error else {
                preconditionFailure("\(error)")
              }
              precondition(!onlyTimer)
            }
            source.invalidate()
          }
        }
        precondition(order.value == [1, 2], "fired as \(order.value)")
      }
      use()
      let descriptors = test_open_descriptors()
      for _ in 0..<5 { use() }
      let after = test_open_descriptors()
      // The test library's own come and go.
      precondition(after < descriptors + 5, "\(descriptors) descriptors became \(after)")
    }
  }

  @Test(
    arguments: Refusal.all(["eventfd2", "pidfd_open"]) + [.init(call: "pidfd_open", error: ENOSYS)])
  func `it, sources that make one say so`(_ refusal: Refusal) async {
    await #expect(processExitsWith: .success) { [refusal = refusal as Refusal] in
      let child = unsafe test_spawn_shell("exit 5", 0)
      refusal.begin()
      let causes = Cell<[SystemError]>([])
      do throws(Loop.SignalError) {
        try Loop.SignalSource(SIGUSR1) { _, _ in }.invalidate()
      } catch {
        guard case .exhausted(let cause) = error else { preconditionFailure("\(error)") }
        causes.update { $0.append(cause) }
      }
      do throws(Loop.ProcessError) {
        try Loop.ProcessSource(child) { _, _ in }.invalidate()
      } catch {
        switch error {
        case .exhausted(let cause) where refusal.error != ENOSYS: causes.update { $0.append(cause) }
        case .failed(let cause) where refusal.error == ENOSYS: causes.update { $0.append(cause) }
        default: preconditionFailure("\(error)")
        }
      }
      precondition(causes.value.map(\.code) == [refusal.error])
      let handler: @convention(c) (CInt) -> Void = { _ in }
      precondition(test_disposition(SIGUSR1, handler) == 0)
      precondition(test_wait_for(child) == 5)
    }
  }
}

extension RealThread {
  /// Runs the loop until the thread has stopped it.
  fileprivate func join(whileRunning loop: Loop) {
    precondition(loop.run() == .stopped)
    join()
  }
}
