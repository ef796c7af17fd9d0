// SPDX-License-Identifier: Apache-2.0

import CSubjects
import CoreFoundation
import Foundation

private typealias Timers = TimerSet<RunLoop, Timer>

/// A RunLoop, and what it takes to reach it from other threads: its own `perform` does not wake it.
private final class ThreadLoop: @unchecked Sendable {  // the flag belongs to the loop's thread
  let loop = RunLoop.current
  let core = CFRunLoopGetCurrent()!
  var isStopped = false

  @inline(__always)
  func perform(_ job: @escaping @Sendable () -> Void) {
    loop.perform(job)
    CFRunLoopWakeUp(core)
  }
}

func foundationSubject() -> subject {
  subject(
    make: {
      let loop = ThreadLoop()
      loop.loop.add(
        Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
      return keep(loop)
    },
    run: {
      with($0, as: ThreadLoop.self) {
        $0.isStopped = false
        while !$0.isStopped, $0.loop.run(mode: .default, before: .distantFuture) {}
      }
    },
    stop: {
      with($0, as: ThreadLoop.self) {
        $0.isStopped = true
        CFRunLoopStop($0.core)
      }
    },
    pass: { with($0, as: ThreadLoop.self) { _ = $0.loop.run(mode: .default, before: Date()) } },
    post: { with($0, as: ThreadLoop.self) { $0.perform { bench_call(0) } } },
    post_owning: { loop, value in
      with(loop, as: ThreadLoop.self) { $0.perform { bench_call(value) } }
    },
    make_inbox: nil,
    send_word: { loop, value in
      with(loop, as: ThreadLoop.self) { $0.perform { bench_call(value) } }
    },
    make_signal: nil, send_signal: nil,
    make_timers: { loop, count in
      with(loop, as: ThreadLoop.self) {
        keep(
          Timers($0.loop, count: count) { value in
            Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in bench_call(value) }
          })
      }
    },
    add_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = Date()
        timers.forEach(which, count) { timer, place in
          timer.fireDate = now + Double(delays[place]) * 1e-9
          timers.loop.add(timer, forMode: .default)
        }
      }
    },
    set_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = Date()
        timers.forEach(which, count) { timer, place in
          timer.fireDate = now + Double(delays[place]) * 1e-9
        }
      }
    },
    cancel_timers: { timers, which, count in
      with(timers, as: Timers.self) { timers in
        timers.forEach(which, count) { timer, _ in timer.invalidate() }
      }
    },
    free_timers: { Timers.free($0) },
    most_timers: 10_000,
    tick: { loop, nanoseconds in
      with(loop, as: ThreadLoop.self) {
        let interval = Double(nanoseconds) * 1e-9
        let timer = Timer(fire: Date() + interval, interval: interval, repeats: true) { _ in
          bench_call(0)
        }
        $0.loop.add(timer, forMode: .default)
      }
    },
    precise_tick: nil,
    be_eager: nil,
    // FileHandle's notifications come by way of Dispatch.
    watch: nil,
    observe: nil, nest: nil
  )
}
