// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `Items touched from other threads` {
  @Test func `are removed by their loop at once, whoever looks at them meanwhile`() throws {
    let pipe = Pipe()
    let source = Loop.DescriptorSource(pipe.reader, for: .readable) { _, _ in }
    let isDone = Cell(false)
    let other = RealThread {
      while !isDone.value { source.interest = .readable }
    }
    onLoopThread { loop in
      var left = 0
      for _ in 0..<5_000 * stress {
        do { try loop.add(source) } catch { Issue.record("\(error)") }
        loop.remove(source, from: .default)
        if loop.contains(source, in: .default) { left += 1 }
      }
      #expect(left == 0)
    }
    isDone.value = true
    other.join()
  }

  @Test func `stay on their grid when they are re-armed as they fire`() {
    let fires = Counter()
    let rounds = DispatchSemaphore(value: 0)
    let runner = LoopRunner()
    let timer = runner.loop.schedule(every: .microseconds(100)) { _ in
      fires.add()
      rounds.signal()
    }
    for _ in 0..<5_000 * stress {
      timer.nextFire = .now
      sched_yield()
    }
    // It goes on by itself: no call and no wake-up is left to help it.
    runner.untilItWaits()
    let before = fires.value
    while fires.value < before + 3 {
      guard rounds.wait(timeout: .now() + .seconds(20)) == .success else {
        Issue.record("the timer was lost")
        break
      }
    }
    runner.stop()
  }

  /// A date set while the handler runs is the user's, not the grid's.
  @Test func `keep a date that another thread sets as they fire`() {
    let runner = LoopRunner()
    let far = Loop.Instant.now.advanced(by: .seconds(100_000))
    for _ in 0..<300 * stress {
      let fired = Cell(0)
      let timer = runner.loop.schedule(every: .microseconds(100)) { _ in fired.update { $0 += 1 } }
      while fired.value < 3 { sched_yield() }
      timer.nextFire = far
      runner.onLoop {}
      let after = fired.value
      runner.onLoop {}
      #expect(timer.nextFire == far)
      #expect(fired.value == after)
      timer.invalidate()
    }
    runner.stop()
  }

  @Test func `are freed by invalidation from any thread, soon after`() {
    let alive = Counter()
    let runner = LoopRunner()
    let pipe = Pipe()
    for _ in 0..<200 * stress {
      let held = Tracked(alive)
      let timer = runner.loop.schedule(every: .seconds(60)) { _ in _ = held }
      let observer = runner.loop.observe(.exit) { _, _ in _ = held }
      let source = Loop.Source { _ in _ = held }
      runner.loop.add(source)
      let descriptor = try? runner.loop.watch(pipe.reader, for: .readable) { _, _ in _ = held }
      #expect(descriptor != nil)
      for item in [timer, observer, source] { item.invalidate() }
      descriptor?.invalidate()
    }
    runner.onLoop {}
    #expect(alive.value == 0)
    runner.stop()
  }

  /// The defect D1 of Foundation: 100 000 objects alive for ever.
  @Test func `of 100 000 timers leave nothing`() {
    let alive = Counter()
    onLoopThread { loop in
      for number in 0..<100_000 {
        let held = Tracked(alive)
        let timer = Loop.Timer(after: .seconds(number % 100)) { _ in _ = held }
        if number % 2 == 0 {
          loop.add(timer)
          timer.invalidate()
        }
      }
      #expect(alive.value == 0)
      #expect(loop.run() == .finished)
    }
  }

  @Test func `that fire once are freed when they have fired`() {
    let alive = Counter()
    let runner = LoopRunner()
    let fired = DispatchSemaphore(value: 0)
    weak var weakTimer: Loop.Timer?
    do {
      let held = Tracked(alive)
      weakTimer = runner.loop.schedule(after: .milliseconds(1)) { _ in
        _ = held
        fired.signal()
      }
    }
    #expect(fired.wait(timeout: .now() + .seconds(30)) == .success)
    runner.onLoop {}
    #expect(weakTimer == nil)
    #expect(alive.value == 0)
    runner.stop()
  }

  @Test func `fire by an earlier date that was added later`() {
    let runner = LoopRunner()
    runner.loop.schedule(after: .seconds(3_600)) { _ in }
    runner.untilItWaits()
    let fired = DispatchSemaphore(value: 0)
    runner.loop.schedule(after: .milliseconds(1)) { _ in fired.signal() }
    #expect(fired.wait(timeout: .now() + .seconds(30)) == .success)
    runner.stop()
  }

  /// A handler that has begun goes on; none begins after.
  @Test func `are not called after an invalidation has returned, but for a call under way`() {
    let runner = LoopRunner()
    for _ in 0..<500 * stress {
      let begun = Counter()
      let timer = runner.loop.schedule(every: .microseconds(100)) { _ in begun.add() }
      while begun.value == 0 { sched_yield() }
      timer.invalidate()
      // One that had passed the check by then may still count.
      let after = begun.value
      runner.onLoop {}
      #expect(begun.value <= after + 1)
    }
    runner.stop()
  }

  @Test func `on the clock that counts suspend fire`() {
    onLoopThread { loop in
      let order = Cell<[Int]>([])
      loop.schedule(after: .milliseconds(3), base: .continuous) { _ in order.update { $0.append(1) }
      }
      loop.schedule(after: .milliseconds(6)) { _ in order.update { $0.append(2) } }
      loop.schedule(after: .milliseconds(9), base: .continuous) { _ in order.update { $0.append(3) }
      }
      #expect(loop.run() == .finished)
      #expect(order.value == [1, 2, 3])
    }
  }

  /// The kernel's timer reports once; a nested run in another mode must not be its only witness.
  @Test func `on the clock that counts suspend fire though a nested run saw them come due`() {
    onLoopThread { loop in
      let other = Loop.Mode("test.other")
      loop.add(Loop.Source { _ in }, to: other)
      loop.add(Loop.Source { _ in })
      let base = Loop.TimeBase.continuous
      let timer = loop.schedule(after: .milliseconds(5), base: base) { _ in loop.stop() }
      // The first sleep arms the kernel's timer; before the second, a nested run takes its report.
      loop.schedule(after: .milliseconds(1)) { _ in }
      let sleeps = Counter()
      loop.observe(.beforeWaiting) { _, _ in
        if sleeps.add() == 1 { return }
        while loop.isStillToCome(timer) { _ = loop.run(in: other, for: .zero) }
      }
      // Ends the hang that would be the failure.
      let limit = loop.run(in: .default, for: .seconds(20))
      #expect(limit == .stopped)
    }
  }
}

extension Loop {
  /// Whether a timer on the clock that counts suspend still has to wait.
  fileprivate func isStillToCome(_ timer: Timer) -> Bool {
    var time = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    return now < timer.nextFire.nanoseconds + 1_000_000
  }
}
