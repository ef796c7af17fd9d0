// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Lull

private typealias Timers = TimerSet<Loop, Loop.Timer>

extension Loop.Mode {
  fileprivate static let nested = Loop.Mode("nested")
}

func lullSubject() -> subject {
  subject(
    make: {
      let loop = Loop.current
      // Keeps runs from ending for want of anything to do.
      loop.add(Loop.Source { _ in })
      loop.add(Loop.Source { _ in }, to: .nested)
      return keep(loop)
    },
    run: { with($0, as: Loop.self) { _ = $0.run() } },
    stop: { with($0, as: Loop.self) { $0.stop() } },
    pass: { with($0, as: Loop.self) { _ = $0.run(in: .default, for: .zero) } },
    post: { with($0, as: Loop.self) { $0.perform { bench_call(0) } } },
    post_owning: { loop, value in
      with(loop, as: Loop.self) { $0.perform { bench_call(value) } }
    },
    make_inbox: { loop in
      with(loop, as: Loop.self) {
        let mailbox = Loop.Mailbox<UInt64> { _, values in for value in values { bench_call(value) }
        }
        $0.add(mailbox)
        return keep(mailbox)
      }
    },
    send_word: { inbox, value in
      with(inbox, as: Loop.Mailbox<UInt64>.self) {
        do { try $0.send(value) } catch { fatalError("\(error)") }
      }
    },
    make_signal: { loop in
      with(loop, as: Loop.self) {
        let source = Loop.Source { _ in bench_call(0) }
        $0.add(source)
        return keep(source)
      }
    },
    send_signal: { with($0, as: Loop.Source.self) { $0.signal() } },
    make_timers: { loop, count in
      with(loop, as: Loop.self) {
        keep(
          Timers($0, count: count) { value in
            Loop.Timer(at: .distantFuture) { _ in bench_call(value) }
          })
      }
    },
    add_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = timers.loop.now
        timers.forEach(which, count) { timer, place in
          timer.nextFire = now.advanced(by: .nanoseconds(delays[place]))
          timers.loop.add(timer)
        }
      }
    },
    set_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = timers.loop.now
        timers.forEach(which, count) { timer, place in
          timer.nextFire = now.advanced(by: .nanoseconds(delays[place]))
        }
      }
    },
    cancel_timers: { timers, which, count in
      with(timers, as: Timers.self) { timers in
        timers.forEach(which, count) { timer, _ in timers.loop.remove(timer, from: .default) }
      }
    },
    free_timers: { Timers.free($0) },
    most_timers: 0,
    tick: { loop, nanoseconds in
      with(loop, as: Loop.self) {
        _ = $0.schedule(every: .nanoseconds(nanoseconds)) { _ in bench_call(0) }
      }
    },
    precise_tick: { loop, nanoseconds in
      with(loop, as: Loop.self) {
        $0.timerLead = .microseconds(200)
        _ = $0.schedule(every: .nanoseconds(nanoseconds)) { _ in bench_call(0) }
      }
    },
    be_eager: { with($0, as: Loop.self) { $0.spinsBeforeSleep = true } },
    watch: { loop, descriptor, value in
      with(loop, as: Loop.self) {
        do {
          try $0.watch(descriptor, for: .readable) { _, _ in bench_call(value) }
        } catch {
          fatalError("\(error)")
        }
      }
    },
    observe: { loop in
      with(loop, as: Loop.self) {
        let points: [Loop.Activities] = [
          .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        for point in points { $0.observe(point) { _, _ in bench_call(0) } }
      }
    },
    nest: { with($0, as: Loop.self) { _ = $0.run(in: .nested, for: .zero) } }
  )
}
