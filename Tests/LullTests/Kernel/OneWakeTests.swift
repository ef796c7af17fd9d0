// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import Testing

/// What reaches a loop from another thread, and how often the loop wakes for it.
@Suite struct `A loop asleep in the kernel` {
  enum Cause: String, CaseIterable, Sendable {
    case post, signal, mail, readyDescriptor, timer, wakeUp, pipe

    /// What the loop's thread has for it before the loop sleeps.
    func prepare(_ loop: Loop, _ things: Things) {
      switch self {
      case .signal: loop.add(things.source)
      case .mail: loop.add(things.mailbox)
      case .pipe: things.watch(on: loop)
      default: break
      }
    }

    /// Asks for something, which says so on `done` when it comes.
    func ask(_ loop: Loop, _ things: Things) {
      switch self {
      case .post: loop.perform { things.done.signal() }
      case .signal: things.source.signal()
      case .mail: try? things.mailbox.send(1)
      case .readyDescriptor:
        things.pipe.write(1)
        things.watch(on: loop)
      case .timer: loop.schedule(at: .now) { _ in things.done.signal() }
      case .wakeUp: loop.wakeUp()
      case .pipe: things.pipe.write(1)
      }
    }
  }

  final class Things: Sendable {
    let done: DispatchSemaphore
    let source: Loop.Source
    let mailbox: Loop.Mailbox<Int>
    let pipe = Pipe()

    init() {
      let done = DispatchSemaphore(value: 0)
      self.done = done
      source = Loop.Source { _ in done.signal() }
      mailbox = Loop.Mailbox { _, _ in done.signal() }
    }

    func watch(on loop: Loop) {
      let (pipe, done) = (pipe, done)
      expectWatched(loop, pipe.reader) { source, _ in
        source.invalidate()
        _ = pipe.read(10)
        done.signal()
      }
    }
  }

  @Test(arguments: Cause.allCases)
  func `is served by one sleep's end`(after cause: Cause) {
    let sleeps = Counter()
    let wakes = Counter()
    let thread = Cell<pid_t>(0)
    let runner = LoopRunner { loop in
      thread.value = gettid()
      loop.observe(.beforeWaiting) { _, _ in sleeps.add() }
      loop.observe(.afterWaiting) { _, _ in wakes.add() }
      // A date that must not be waited for.
      loop.schedule(after: .seconds(3_600)) { _ in }
    }
    /// Not on its way to sleep, where it may notice things twice.
    func untilItWaits() {
      while !(runner.loop.isWaiting && isBlocked(thread.value)) { sched_yield() }
    }
    for _ in 0..<10 * stress {
      let things = Things()
      runner.onLoop { cause.prepare(runner.loop, things) }
      untilItWaits()
      let before = (sleeps.value, wakes.value)
      cause.ask(runner.loop, things)
      if cause == .wakeUp {
        while wakes.value == before.1 { sched_yield() }
      } else {
        #expect(things.done.wait(timeout: .now() + .seconds(30)) == .success)
      }
      untilItWaits()
      // It woke once, and sleeps again.
      #expect(wakes.value - before.1 == 1)
      #expect(sleeps.value - before.0 == wakes.value - before.1)
      things.source.invalidate()
      things.mailbox.invalidate()
      runner.onLoop {}
    }
    runner.stop()
    report("\(10 * stress) times \(cause): one wake-up each")
  }
}

/// Whether a thread of ours sleeps, as /proc tells.
func isBlocked(_ thread: pid_t) -> Bool {
  let descriptor = unsafe open("/proc/self/task/\(thread)/stat", O_RDONLY)
  var bytes = [UInt8](repeating: 0, count: 256)
  let count = unsafe read(descriptor, &bytes, 256)
  close(descriptor)
  let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  return text.split(separator: ")").last?.hasPrefix(" S") ?? false
}
