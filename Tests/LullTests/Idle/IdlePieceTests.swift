// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lull
import LullTesting
import Testing

@Suite struct `Pieces of idle work` {
  /// None leaves anything on the stack for those that follow.
  @Test func `may be many`() {
    withVirtualLoop { loop, _ in
      let work = loop.idle.forEach(0..<50_000) { _, _ in .continue }
      #expect(loop.run() == .finished)
      #expect(work.progress.done == 50_000)
    }
  }

  // facebook/react#17355: a dialog in a piece runs the loop, which begins another piece.
  @Test func `are not interrupted by others, however deep they run the loop`() {
    withVirtualLoop { loop, time in
      let order = Shared<[String]>([])
      let depth = Shared(0)
      @Sendable func nest() {
        guard depth.value < 3 else { return }
        depth.value += 1
        loop.schedule(after: .milliseconds(1)) { _ in
          order.value.append("timer \(depth.value)")
          nest()
        }
        _ = loop.run(in: .default, for: .milliseconds(10))
        depth.value -= 1
      }
      for number in 1...3 {
        loop.idle.enqueue(number, key: "key") { _, number in
          order.value.append("begin \(number)")
          if number == 1 { nest() }
          order.value.append("end \(number)")
          return .continue
        }
      }
      loop.keepAlive()
      _ = loop.run(in: .default, for: .milliseconds(100))
      #expect(
        order.value == [
          "begin 1", "timer 1", "timer 2", "timer 3", "end 1", "begin 2", "end 2", "begin 3",
          "end 3",
        ])
    }
  }

  // yigit/android-priority-jobqueue#98: a lock held around the callback blocks who adds.
  @Test func `do not keep other threads from adding`() {
    let runner = LoopRunner()
    let (begun, added) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let ran = Counter()
    runner.loop.idle.enqueue(0, key: "long") { _, _ in
      begun.signal()
      #expect(added.wait(timeout: .now() + .seconds(60)) == .success)
      return .continue
    }
    begun.wait()
    let works = (0..<1000).map { number in
      runner.loop.idle.enqueue(number, key: "key \(number % 7)") { _, _ in
        ran.add()
        return .continue
      }
    }
    works[1].priority = .high
    works[2].cancel()
    added.signal()
    while runner.loop.idle.count > 0 { runner.onLoop {} }
    #expect(ran.value == 999)
    runner.stop()
  }

  // TextureGroup/Texture#558: items that are gone kept a queue from ever being empty.
  @Test func `leave the loop nothing to do when all their owners have gone`() {
    withVirtualLoop { loop, time in
      var owners = (0..<10).map { _ in IdleOwner() }
      for owner in owners {
        for _ in 0..<10 {
          loop.idle.forEach(0..<100) { _, _ in .continue }.owned(by: owner)
        }
      }
      #expect(loop.idle.count == 100)
      owners = []
      #expect(loop.idle.count == 0)
      let waits = time.waits
      #expect(loop.run() == .finished)
      #expect(time.waits == waits)
    }
  }
}
