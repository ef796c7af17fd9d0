// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `A loop thread` {
  private func happens(
    _ event: DispatchSemaphore, _ location: SourceLocation = #_sourceLocation
  ) {
    let result = event.wait(timeout: .now() + .seconds(60))
    #expect(result == .success, sourceLocation: location)
  }

  /// NSRunLoop's second trouble: a callback on a thread whose loop nobody runs.
  @Test func `serves what is added to its loop, though that was empty`() throws {
    let thread = try LoopThread()
    #expect(!thread.loop.isCurrent)
    while !thread.loop.isWaiting { sched_yield() }
    #expect(thread.loop.currentMode == .default)
    let fired = DispatchSemaphore(value: 0)
    thread.loop.schedule(after: .milliseconds(1)) { _ in fired.signal() }
    happens(fired)
    thread.loop.perform {
      #expect(thread.loop.isCurrent)
      fired.signal()
    }
    happens(fired)
    thread.stop()
    thread.join()
    #expect(thread.loop.currentMode == nil)
  }

  @Test func `stops with all its nested runs, however deep`() throws {
    let thread = try LoopThread(stackSize: 32 << 20)
    let results = Cell<[Loop.RunResult]>([])
    let isDeep = DispatchSemaphore(value: 0)
    @Sendable func nest(_ depth: Int) {
      guard depth > 0 else {
        isDeep.signal()
        return
      }
      thread.loop.perform { nest(depth - 1) }
      let result = thread.loop.run()
      results.update { $0.append(result) }
    }
    thread.loop.perform { nest(80) }
    happens(isDeep)
    thread.stop()
    thread.join()
    #expect(results.value == Array(repeating: .stopped, count: 80))
  }

  @Test func `runs nothing for long once it was stopped`() throws {
    let thread = try LoopThread()
    let results = Cell<[Loop.RunResult]>([])
    let source = Loop.Source(cancel: { _, loop, _ in
      for _ in 0..<3 {
        let result = loop.run(in: .default)
        results.update { $0.append(result) }
      }
    }) { _ in }
    thread.loop.add(source)
    thread.stop()
    thread.join()
    #expect(Set(results.value).isSubset(of: [.stopped, .finished]))
    #expect(results.value.count == 3)
  }

  @Test func `ends by its loop's own stop too, but not by one for a nested run`() throws {
    let thread = try LoopThread()
    let nested = Loop.Mode("test.nested")
    let result = Cell<Loop.RunResult?>(nil)
    thread.loop.add(Loop.Source { _ in }, to: nested)
    thread.loop.perform { result.value = thread.loop.run(in: nested) }
    while !(thread.loop.isWaiting && thread.loop.currentMode == nested) { sched_yield() }
    thread.loop.stop()
    while !(thread.loop.isWaiting && thread.loop.currentMode == .default) { sched_yield() }
    #expect(result.value == .stopped)
    thread.loop.stop()
    thread.join()
  }

  /// flutter engine #34735, libuv #799: a stop races with the thread's first steps and its last.
  @Test func `can be stopped at any moment, and more than once`() throws {
    for round in 0..<200 * stress {
      var dice = Dice(seed: round)
      let thread = try LoopThread()
      dice.dawdle(200)
      onThreads(2) { _ in thread.stop() }
      thread.join()
      thread.stop()
      thread.loop.stop()
    }
  }

  @Test func `is joined by several, after its cancel handlers have run`() throws {
    for _ in 0..<20 * stress {
      let thread = try LoopThread()
      let cancelled = Cell(0)
      for _ in 0..<5 {
        thread.loop.add(
          Loop.Source(cancel: { _, _, _ in cancelled.update { $0 += 1 } }) { _ in })
      }
      let joiners = (0..<4).map { _ in
        RealThread {
          thread.join()
          #expect(cancelled.value == 5)
        }
      }
      thread.stop()
      for joiner in joiners { joiner.join() }
      thread.join()
    }
  }

  @Test func `lets go of what waits when it ends`() throws {
    let alive = Counter()
    let thread = try LoopThread()
    let timer: Loop.Timer
    do {
      let held = Tracked(alive)
      timer = thread.loop.schedule(after: .seconds(10_000)) { _ in _ = held }
      let block = Tracked(alive)
      thread.loop.perform(in: Loop.Mode("test.never")) { _ = block }
    }
    thread.stop()
    thread.join()
    // The timer is ours to add elsewhere, the block is gone.
    #expect(timer.isValid)
    #expect(alive.value == 1)
    timer.invalidate()
    #expect(alive.value == 0)
  }

  @Test func `goes on when its handle is dropped`() throws {
    let loop = try LoopThread().loop
    let done = DispatchSemaphore(value: 0)
    let source = Loop.Source(cancel: { _, _, _ in done.signal() }) { _ in done.signal() }
    loop.add(source)
    source.signal()
    happens(done)
    loop.stop()
    happens(done)
  }

  @Test(arguments: [
    ("short", "short"), ("exactly15 bytes", "exactly15 bytes"),
    ("much longer than the kernel keeps", "much longer tha"), ("ééééééééé", "ééééééé"),
    ("nul\0and more", "nul"), ("", ""),
  ])
  func `has a name, of what the kernel keeps`(asked: String, kept: String) throws {
    let thread = try LoopThread(name: asked)
    #expect(thread.name == kept)
    let name = Cell("?")
    let done = DispatchSemaphore(value: 0)
    thread.loop.perform {
      var bytes = [CChar](repeating: 0, count: 16)
      unsafe pthread_getname_np(pthread_self(), &bytes, 16)
      let letters = bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      name.value = String(decoding: letters, as: UTF8.self)
      done.signal()
    }
    happens(done)
    #expect(name.value == kept)
    thread.stop()
    thread.join()
  }

  @Test(arguments: [LoopThread.leastStackSize, 1 << 20, (3 << 20) + 1])
  func `has a stack of the size that was asked for`(size: Int) throws {
    let thread = try LoopThread(stackSize: size)
    let found = Cell(0)
    let done = DispatchSemaphore(value: 0)
    thread.loop.perform {
      found.value = test_stack_size()
      done.signal()
    }
    happens(done)
    // The C library may hand out a larger one that a thread has left.
    #expect(found.value >= size - 4096)
    thread.stop()
    thread.join()
  }

  @Test func `that there is no room for is an error`() async throws {
    #expect {
      try LoopThread(stackSize: 1 << 60)
    } throws: { error in
      [EAGAIN, EINVAL].contains((error as? SystemError)?.code)
    }
    await #expect(processExitsWith: .success) {
      guard test_refuse_threads() == 0 else { return test_exit(3) }
      do throws(SystemError) {
        _ = try LoopThread()
        test_exit(1)
      } catch {
        test_exit(error.code == EAGAIN && error.call == "pthread_create" ? 0 : 2)
      }
    }
  }

  @Test func `with too small a stack traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = try? LoopThread(stackSize: LoopThread.leastStackSize - 1)
    }
  }

  @Test func `that joins itself traps`() async {
    await #expect(processExitsWith: .failure) {
      guard let thread = try? LoopThread() else { return }
      thread.loop.perform { thread.join() }
      thread.join()
    }
  }
}
