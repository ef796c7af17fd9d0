// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `Posts from other threads` {
  /// What arrived, as (thread, number) pairs.
  private typealias Arrivals = Cell<[(Int, Int)]>

  private func expectAll(
    _ arrivals: Arrivals, threads: Int, each: Int,
    _ location: SourceLocation = #_sourceLocation
  ) {
    let all = arrivals.value
    #expect(all.count == threads * each, sourceLocation: location)
    for thread in 0..<threads {
      let numbers = all.filter { $0.0 == thread }.map(\.1)
      #expect(numbers == Array(0..<each), "thread \(thread)", sourceLocation: location)
    }
  }

  @Test(arguments: [1, 4])
  func `arrive once and in each thread's order at a loop that sleeps`(threads: Int) {
    let each = 1_000
    for _ in 0..<5 * stress {
      let runner = LoopRunner()
      let arrivals = Arrivals([])
      runner.untilItWaits()
      onThreads(threads) { thread in
        for number in 0..<each {
          runner.loop.perform { arrivals.update { $0.append((thread, number)) } }
        }
      }
      runner.onLoop {}
      expectAll(arrivals, threads: threads, each: each)
      runner.stop()
    }
  }

  @Test(arguments: [1, 4])
  func `arrive once and in each thread's order at a loop that is awake`(threads: Int) {
    let each = 5_000 * stress
    let runner = LoopRunner { loop in
      // Signals itself for ever: no pass sleeps.
      let busy = Loop.Source { $0.signal() }
      loop.add(busy)
      busy.signal()
    }
    let arrivals = Arrivals([])
    onThreads(threads) { thread in
      for number in 0..<each {
        runner.loop.perform { arrivals.update { $0.append((thread, number)) } }
      }
    }
    runner.onLoop {}
    expectAll(arrivals, threads: threads, each: each)
    runner.stop()
  }

  /// netty/netty#9109, arcana.cpp #24: a post between the look and the sleep must end the sleep.
  @Test func `with pauses of any length are never slept over`() {
    let runner = LoopRunner()
    let count = 20_000 * stress
    let threads = 2
    let arrivals = Arrivals([])
    onThreads(threads) { thread in
      var dice = Dice(seed: thread)
      let arrived = DispatchSemaphore(value: 0)
      for number in 0..<count / threads {
        runner.loop.perform {
          arrivals.update { $0.append((thread, number)) }
          arrived.signal()
        }
        // Nothing else would wake the loop, so a lost post ends here.
        if arrived.wait(timeout: .now() + .seconds(30)) != .success {
          Issue.record("post \(number) of thread \(thread) was slept over")
          return
        }
        dice.dawdle(200)
      }
    }
    expectAll(arrivals, threads: threads, each: count / threads)
    runner.stop()
  }

  @Test func `come before what the loop's own thread does after it has heard of them`() {
    onLoopThread { loop in
      let order = Cell<[String]>([])
      let timer = Loop.Timer(after: .zero) { _ in order.update { $0.append("timer") } }
      RealThread {
        loop.perform { order.update { $0.append("theirs") } }
        loop.add(timer)
      }.join()
      loop.perform { order.update { $0.append("ours") } }
      loop.remove(timer, from: .default)
      loop.run()
      #expect(order.value == ["theirs", "ours"])
    }
  }

  /// A schedule handler that runs the loop lets it read on, in the order things were posted.
  @Test func `keep their order through a nested run in a schedule handler`() {
    let runner = LoopRunner()
    let order = Cell<[Int]>([])
    let isNested = DispatchSemaphore(value: 0)
    let posted = DispatchSemaphore(value: 0)
    let isBack = DispatchSemaphore(value: 0)
    let source = Loop.Source(
      schedule: { _, loop, _ in
        isNested.signal()
        posted.wait()
        _ = loop.run(in: .default, for: .zero)
        isBack.signal()
      }
    ) { _ in }
    // One batch: the loop is in a callout while both are posted.
    let release = DispatchSemaphore(value: 0)
    runner.loop.perform { release.wait() }
    runner.loop.add(source)
    runner.loop.perform { order.update { $0.append(1) } }
    release.signal()
    isNested.wait()
    runner.loop.perform { order.update { $0.append(2) } }
    posted.signal()
    runner.onLoop {}
    // A stop that comes during the nested run would end that one.
    isBack.wait()
    #expect(order.value == [1, 2])
    runner.stop()
  }

  @Test func `are there for the loop's thread as soon as it hears that they were made`() {
    let added = Cell<[Loop.Timer]>([])
    let isDone = Cell(false)
    let watcher = RealThread {
      let loop = Loop.current
      let threads = (0..<4).map { _ in
        RealThread {
          for _ in 0..<5_000 * stress {
            let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
            loop.add(timer)
            added.update { $0.append(timer) }
          }
        }
      }
      RealThread {
        for thread in threads { thread.join() }
        isDone.value = true
      }.detach()
      var missing = 0
      while !isDone.value || !added.value.isEmpty {
        for timer in added.update({ timers -> [Loop.Timer] in
          defer { timers = [] }
          return timers
        }) {
          if !loop.contains(timer, in: .default) { missing += 1 }
          timer.invalidate()
        }
      }
      #expect(missing == 0)
    }
    watcher.join()
  }

  @Test func `find each of two loops that talk to each other`() {
    let left = LoopRunner()
    let right = LoopRunner()
    let rounds = 5_000 * stress
    let done = DispatchSemaphore(value: 0)
    bounce(left.loop, right.loop, rounds, done)
    #expect(done.wait(timeout: .now() + .seconds(50)) == .success)
    left.stop()
    right.stop()
  }

  /// crossroadlabs/RunLoop.
  @Test func `a thousand of them over three loops all run, each on its own`() {
    let runners = (0..<3).map { _ in LoopRunner() }
    let (count, all) = (Counter(), DispatchSemaphore(value: 0))
    for number in 0..<1_000 {
      let (here, there) = (runners[number % 3].loop, runners[(number + 1) % 3].loop)
      here.perform {
        there.perform {
          #expect(there.isCurrent && !here.isCurrent)
          if count.add() == 1_000 { all.signal() }
        }
      }
    }
    #expect(all.wait(timeout: .now() + .seconds(30)) == .success)
    for runner in runners { runner.stop() }
  }

  private func bounce(_ here: Loop, _ there: Loop, _ left: Int, _ done: DispatchSemaphore) {
    here.perform {
      if left == 0 { done.signal() } else { bounce(there, here, left - 1, done) }
    }
  }
}

@Suite struct `Wake-ups` {
  /// A loop that counts how often it woke.
  private func countingRunner(_ wakes: Counter) -> LoopRunner {
    LoopRunner { loop in loop.observe(.afterWaiting) { _, _ in wakes.add() } }
  }

  @Test func `that come while the loop is in a callout make one pass`() {
    let passes = Counter()
    let runner = LoopRunner { loop in loop.observe(.beforeTimers) { _, _ in passes.add() } }
    runner.untilItWaits()
    let inside = DispatchSemaphore(value: 0)
    let release = DispatchSemaphore(value: 0)
    runner.loop.perform {
      inside.signal()
      release.wait()
    }
    inside.wait()
    let before = passes.value
    for _ in 0..<1_000 { runner.loop.wakeUp() }
    release.signal()
    // The pass of the block's own end, and the one that the wake-ups ask for.
    while !(runner.loop.isWaiting && passes.value > before) { sched_yield() }
    #expect(passes.value - before <= 2)
    runner.stop()
  }

  @Test func `of 1000 calls to a sleeping loop are as few as it can serve`() {
    let wakes = Counter()
    let runner = countingRunner(wakes)
    runner.untilItWaits()
    // No pass ends before the calls have: afterWaiting waits for them.
    let gate = DispatchSemaphore(value: 0)
    let once = Counter()
    let observer = Loop.Observer(.afterWaiting) { _, _ in
      if once.add() == 1 { gate.wait() }
    }
    runner.onLoop { runner.loop.add(observer) }
    runner.untilItWaits()
    let before = wakes.value
    for _ in 0..<1_000 { runner.loop.wakeUp() }
    gate.signal()
    runner.onLoop {}
    // The sleep that ended, the pass the rest ask for, and the one of the block.
    #expect(wakes.value - before <= 3)
    runner.stop()
  }

  /// CFRunLoop lets the nested run eat it and sleeps on.
  @Test func `during a nested run count for the run around it`() {
    onLoopThread { loop in
      let nested = Loop.Mode("test.nested")
      loop.add(Loop.Source { _ in }, to: nested)
      loop.add(Loop.Source { _ in })
      let passes = Counter()
      loop.observe(.beforeTimers) { _, _ in
        if passes.add() == 2 { loop.stop() }
      }
      loop.observe(.beforeWaiting, repeats: false) { _, _ in
        RealThread {
          while !(loop.isWaiting && loop.currentMode == nested) { sched_yield() }
          loop.wakeUp()
          while !loop.isWaiting { sched_yield() }
          loop.stop()
        }.detach()
        #expect(loop.run(in: nested) == .stopped)
      }
      #expect(loop.run() == .stopped)
      #expect(passes.value == 2)
    }
  }

  /// The same for a signal: the source is only in the outer mode.
  @Test func `of a signal during a nested run are not lost on the outer mode`() {
    onLoopThread { loop in
      let nested = Loop.Mode("test.nested")
      loop.add(Loop.Source { _ in }, to: nested)
      let source = Loop.Source { _ in loop.stop() }
      loop.add(source)
      loop.observe(.beforeWaiting, repeats: false) { _, _ in
        RealThread {
          while !loop.isWaiting { sched_yield() }
          source.signal()
          while !loop.isWaiting { sched_yield() }
          loop.stop()
        }.detach()
        #expect(loop.run(in: nested) == .stopped)
      }
      #expect(loop.run() == .stopped)
      #expect(!source.isSignalled)
    }
  }

  @Test func `come from a signal on a source, from an earlier timer and from a ready descriptor`()
    throws
  {
    let wakes = Counter()
    let runner = countingRunner(wakes)
    let happened = DispatchSemaphore(value: 0)
    let source = Loop.Source { _ in happened.signal() }
    runner.onLoop {
      runner.loop.schedule(after: .seconds(3_600)) { _ in }
      runner.loop.add(source)
    }

    func expectOneWake(
      _ what: String, _ location: SourceLocation = #_sourceLocation, _ cause: () throws -> Void
    ) rethrows {
      runner.untilItWaits()
      let before = wakes.value
      try cause()
      let result = happened.wait(timeout: .now() + .seconds(30))
      #expect(result == .success, "\(what)", sourceLocation: location)
      runner.untilItWaits()
      // One that brings the thing, and for a timer in the future one more when it is due.
      #expect(wakes.value - before <= 2, "\(what)", sourceLocation: location)
    }

    expectOneWake("signal") { source.signal() }
    expectOneWake("timer") {
      runner.loop.schedule(after: .milliseconds(1)) { _ in happened.signal() }
    }
    let pipe = Pipe()
    pipe.write(1)
    try expectOneWake("descriptor") {
      try runner.loop.watch(pipe.reader, for: .readable) { source, _ in
        source.invalidate()
        happened.signal()
      }
    }
    runner.stop()
  }
}
