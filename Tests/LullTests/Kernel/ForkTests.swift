// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `A child made by fork` {
  /// Runs `child` in a forked process, on the thread that called; true if it came back true.
  private static func succeeds(_ child: () -> Bool) -> Bool {
    let process = test_fork()
    if process == 0 { test_exit(child() ? 0 : 1) }
    return test_wait_for(process) == 0
  }

  @Test func `goes on with its timers and descriptors, and its wake-ups stay its own`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { loop in
        let pipe = Pipe()
        let calls = Counter()
        let passes = Counter()
        loop.observe(.beforeTimers) { _, _ in passes.add() }
        expectWatched(loop, pipe.reader) { _, _ in calls.add(pipe.read(1)) }
        let timer = loop.schedule(after: .milliseconds(50)) { _ in loop.stop() }
        _ = loop.run(in: .default, for: .zero)
        // Forked before its first wait there.
        let isWell = Self.succeeds {
          loop.wakeUp()
          loop.perform {}
          pipe.write(1)
          return loop.run() == .stopped && calls.value == 1 && !timer.isValid
        }
        precondition(isWell)

        // What the child did to what it watched is not felt here.
        pipe.write(1)
        precondition(loop.run() == .stopped)
        precondition(calls.value == 1)
      }
    }
  }

  @Test func `that takes everything out takes nothing from its parent`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { loop in
        let pipe = Pipe()
        let source = expectWatched(loop, pipe.reader) { _, _ in loop.stop() }
        _ = loop.run(in: .default, for: .zero)
        let isWell = Self.succeeds {
          source?.invalidate()
          return loop.run() == .finished
        }
        precondition(isWell)
        pipe.write(1)
        let result = loop.run(in: .default, for: .seconds(20))
        precondition(result == .stopped, "the child's removal was ours: \(result)")
      }
    }
  }

  @Test func `does not wake a loop of its parent's other threads`() async {
    await #expect(processExitsWith: .success) {
      let passes = Counter()
      let runner = LoopRunner { loop in loop.observe(.beforeTimers) { _, _ in passes.add() } }
      runner.untilItWaits()
      let before = passes.value
      let isWell = Self.succeeds {
        for _ in 0..<100 {
          runner.loop.wakeUp()
          runner.loop.stop()
        }
        return true
      }
      precondition(isWell)
      precondition(passes.value == before, "the child woke its parent")
      runner.stop()
    }
  }

  @Test func `in the middle of a run goes on with that`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { loop in
        let isChild = Cell(false)
        let child = Cell<pid_t>(-1)
        let pipe = Pipe()
        let read = Counter()
        expectWatched(loop, pipe.reader) { source, _ in
          read.add(pipe.read(1))
          source.invalidate()
        }
        loop.schedule(after: .milliseconds(1)) { _ in
          child.value = test_fork()
          isChild.value = child.value == 0
          if isChild.value {
            loop.schedule(after: .milliseconds(1)) { _ in pipe.write(1) }
            loop.schedule(after: .milliseconds(2), base: .continuous) { _ in }
          }
        }
        if isChild.value { return }
        loop.schedule(after: .milliseconds(1)) { _ in
          if !isChild.value {
            precondition(test_wait_for(child.value) == 0)
            pipe.write(1)
          }
        }
        let result = loop.run()
        if isChild.value { test_exit(result == .finished && read.value == 1 ? 0 : 1) }
        precondition(result == .finished && read.value == 1)
      }
    }
  }
}
