// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

/// What must hold for as long as a process lives. A plain run of the tests does a hundredth of what
/// `Tools/stress` does, which is what the numbers in the names of its goals stand for.
@Suite struct `In the long run` {
  /// Touched on the loop's thread only.
  private final class Tally: @unchecked Sendable {
    var next = [0, 0, 0, 0]
    var wrong = 0
  }

  /// Nothing else wakes the loop, and who comes after a poster leaves the waking to that one: a
  /// wake-up that is lost hangs all four.
  @Test func `posts from four threads end every sleep, and run once each in order`() {
    let threads = 4
    let each = 25_000 * stress
    let sleeps = Counter()
    let tally = Tally()
    let runner = LoopRunner { loop in loop.observe(.afterWaiting) { _, _ in sleeps.add() } }
    onThreads(threads, patience: 600) { thread in
      var dice = Dice(seed: thread)
      let arrived = DispatchSemaphore(value: 0)
      var number = 0
      while number < each {
        let end = min(each, number + Int.random(in: 1...400, using: &dice))
        for post in number..<end {
          let isLast = post == end - 1
          runner.loop.perform {
            if tally.next[thread] != post { tally.wrong += 1 }
            tally.next[thread] = post + 1
            if isLast { arrived.signal() }
          }
          // Short pauses meet the loop on its way to sleep, long ones asleep.
          let die = UInt8.random(in: .min ... .max, using: &dice)
          if die < 16 { dice.dawdle(die == 0 ? 2_000 : 50) }
        }
        number = end
        if arrived.wait(timeout: .now() + .seconds(60)) != .success {
          Issue.record("post \(number) of thread \(thread) was slept over")
          return
        }
      }
    }
    runner.onLoop {
      #expect(tally.next == Array(repeating: each, count: threads))
      #expect(tally.wrong == 0)
    }
    runner.stop()
    report("\(threads * each) posts from \(threads) threads, \(sleeps.value) sleeps")
  }

  /// What a loop is used for, over and over.
  enum Use: String, CaseIterable, Codable, Sendable {
    case runs, modes, threads, timers

    /// Does it once, in a share that is the same each time; how many it made.
    func share() -> Int {
      switch self {
      case .runs:
        onLoopThread { loop in
          let source = Loop.Source { _ in }
          loop.add(source)
          for number in 0..<1_000 {
            source.signal()
            loop.perform {}
            _ = loop.run(in: .default, for: number % 2 == 0 ? .zero : .microseconds(1))
          }
        }
        return 1_000
      case .modes:
        onLoopThread { loop in
          let source = Loop.Source { _ in }
          let timer = Loop.Timer(every: .seconds(60)) { _ in }
          for mode in Use.thousandModes {
            loop.add(source, to: mode)
            loop.add(timer, to: mode)
            loop.perform(in: mode) {}
            _ = loop.run(in: mode, for: .zero)
          }
        }
        return 1_000
      case .threads:
        onThreads(8) { _ in
          let loop = Loop.current
          loop.schedule(every: .seconds(60)) { _ in }
          loop.add(Loop.Source { _ in })
          _ = loop.run(in: .default, for: .zero)
        }
        return 8
      case .timers:
        onLoopThread { loop in
          for number in 0..<1_000 {
            let timer = Loop.Timer(after: .seconds(number % 7), every: .seconds(60)) { _ in }
            if number % 4 > 0 { loop.add(timer) }
            if number % 4 > 1 { timer.nextFire = .now.advanced(by: .seconds(number)) }
            if number % 4 > 2 { timer.invalidate() }
          }
          _ = loop.run(in: .default, for: .zero)
        }
        return 1_000
      }
    }

    private static let thousandModes = (0..<1_000).map { Loop.Mode("test.\($0)") }

    var shares: Int {
      switch self {
      case .runs, .timers: 10 * stress
      case .modes: max(4, stress / 10)
      case .threads: max(4, 3 * stress)
      }
    }
  }

  @Test(arguments: Use.allCases)
  func `keep neither memory nor descriptors`(_ use: Use) async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [use = use as Use] in
      // Until the allocator and the library's own tables have what they keep.
      for _ in 0..<5 { _ = use.share() }
      let descriptors = test_open_descriptors()
      let memory = test_resident_kilobytes()
      var count = 0
      for _ in 0..<use.shares { count += use.share() }
      let growth = test_resident_kilobytes() - memory
      report("\(count) \(use): \(growth) kB more of \(memory), \(descriptors) descriptors")
      // The test library's own come and go, and each share would lose some.
      let lost = test_open_descriptors() - descriptors
      precondition(lost < 3, "\(count) \(use) left \(lost) descriptors")
      precondition(isSanitized || growth < 1_500, "\(count) \(use) left \(growth) kB")
    }
    report(of: result)
  }
}

/// Figures for `Tools/stress`.
func report(_ line: String) {
  if stress > 1 || stressTime > .zero { print("  FIGURE \(line)") }
}

/// Hands on the figures of a process that an exit test watched.
func report(of result: ExitTest.Result?) {
  let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
  for line in output.split(separator: "\n") where line.contains("FIGURE") { print(line) }
}

/// Sanitizers keep freed memory for a while.
let isSanitized = unsafe dlsym(nil, "__asan_init") ?? dlsym(nil, "__tsan_init") != nil
