// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `Eight threads on one loop` {
  /// For the thread sanitizer above all: everything that any thread may do, done by eight at once.
  @Test func `do as they please, and it ends empty`() {
    let alive = Counter()
    let (runs, acts) = (Counter(), Counter())
    do {
      let loop = Cell<Loop?>(nil)
      let isKnown = DispatchSemaphore(value: 0)
      let isDone = Cell(false)
      let runner = RealThread {
        let own = Loop.current
        own.observe([.beforeTimers, .afterWaiting]) { _, _ in }
        own.add(Loop.Source { _ in })
        loop.value = own
        isKnown.signal()
        repeat {
          own.run()
          runs.add()
        } while !isDone.value
      }
      isKnown.wait()
      act(on: loop.value!, Tracked(alive), acts)
      // Behind all blocks that run the loop, so the last stop is for the outermost run.
      loop.value!.perform {
        isDone.value = true
        loop.value!.stop()
      }
      runner.join()
    }
    #expect(alive.value == 0)
    report("\(acts.value) acts of 8 threads, \(runs.value) runs")
  }

  private func act(on loop: Loop, _ held: Tracked, _ acts: Counter) {
    let modes = [Loop.Mode.default, .common, Loop.Mode("test.a"), Loop.Mode("test.b")]
    let pipes = (0..<4).map { _ in Pipe() }
    // Shared by all: they add, remove and invalidate each other's.
    let shared = Cell(Things.some(holding: held, pipes))
    let end = Loop.Instant.now.advanced(by: stressTime)

    onThreads(8, patience: 600) { number in
      var dice = Dice(seed: number)
      var round = 0
      let arrived = DispatchSemaphore(value: 0)
      while round < 2_000 * stress || Loop.Instant.now < end {
        round += 1
        // Eight are faster than one: without pauses they would only fill its mailbox.
        if round % 100 == 0 {
          loop.perform { arrived.signal() }
          if arrived.wait(timeout: .now() + .seconds(60)) != .success {
            Issue.record("the loop hangs after \(round) acts of thread \(number)")
            return
          }
        }
        let mode = modes.randomElement(using: &dice)!
        let things = shared.value
        switch Int.random(in: 0..<18, using: &dice) {
        case 0, 1: loop.perform(in: mode) { _ = held }
        case 2: loop.add(things.timer, to: mode)
        case 3: loop.add(things.source, to: mode)
        case 4: loop.add(things.observer, to: mode)
        case 5: try? loop.add(things.descriptor, to: mode)
        case 6: loop.remove(things.all.randomElement(using: &dice)!, from: mode)
        case 7: things.timer.nextFire = .now.advanced(by: .microseconds(50))
        case 8: things.timer.tolerance = .microseconds(10)
        case 9: things.descriptor.interest = Bool.random(using: &dice) ? [] : .readable
        case 10: pipes.randomElement(using: &dice)!.write(1)
        case 11: things.source.signal()
        case 12: loop.wakeUp()
        case 13: _ = (loop.isWaiting, loop.currentMode, things.timer.nextFire)
        case 14:
          let nested = modes[2 + round % 2]
          loop.perform { _ = loop.run(in: nested, for: .zero) }
        case 15: loop.stop()
        case 16:
          loop.add(things.mailbox, to: mode)
          try? things.mailbox.send(held)
        default:
          things.all.randomElement(using: &dice)!.invalidate()
          let next = Things.some(holding: held, pipes)
          let old = shared.update { current in
            defer { current = next }
            return current
          }
          for item in old.all { item.invalidate() }
        }
      }
      acts.add(round)
    }
    for item in shared.value.all { item.invalidate() }
  }

  private struct Things: Sendable {
    let timer: Loop.Timer
    let source: Loop.Source
    let observer: Loop.Observer
    let descriptor: Loop.DescriptorSource
    let mailbox: Loop.Mailbox<Tracked>
    var all: [Loop.Item] { [timer, source, observer, descriptor, mailbox] }

    static func some(holding held: Tracked, _ pipes: [Pipe]) -> Things {
      let pipe = pipes.randomElement()!
      return Things(
        timer: Loop.Timer(every: .microseconds(100)) { _ in _ = held },
        source: Loop.Source(schedule: { _, _, _ in }, cancel: { _, _, _ in _ = held }) { _ in },
        observer: Loop.Observer([.beforeWaiting, .exit]) { _, _ in _ = held },
        descriptor: Loop.DescriptorSource(pipe.reader, for: .readable) { _, _ in
          _ = held
          _ = pipe.read(10)
        },
        mailbox: Loop.Mailbox(limit: 5) { _, _ in _ = held })
    }
  }

  @Test func `stop it and each of them is heard`() {
    let found = Cell<Loop?>(nil)
    let isKnown = DispatchSemaphore(value: 0)
    let isDone = Cell(false)
    let thread = RealThread {
      let loop = Loop.current
      loop.add(Loop.Source { _ in })
      found.value = loop
      isKnown.signal()
      while !isDone.value { #expect(loop.run() == .stopped) }
    }
    isKnown.wait()
    let loop = found.value!
    onThreads(8) { _ in for _ in 0..<2_000 * stress { loop.stop() } }
    isDone.value = true
    loop.stop()
    thread.join()
  }

  /// swift-corelibs-foundation#3869: runs that hang now and then; #4435: those with a limit of zero
  /// or less for ever.
  @Test func `or rather on eight loops, make 100 000 short runs`() {
    onThreads(8) { _ in
      let loop = Loop.current
      loop.add(Loop.Source { _ in })
      let limits: [Duration] = [
        .zero, .seconds(-1), .microseconds(1), .nanoseconds(Int64.min), .zero,
      ]
      for number in 0..<12_500 * stress {
        let limit = limits[number % limits.count]
        #expect(loop.run(in: .default, for: limit) == .timedOut)
      }
      for _ in 0..<1_000 {
        #expect(loop.run(in: .default, until: .distantPast) == .timedOut)
      }
    }
  }
}
