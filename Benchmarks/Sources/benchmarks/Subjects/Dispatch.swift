// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Dispatch

/// The nearest that Dispatch has to a loop: a serial queue, whose end somebody waits for.
private final class SerialQueue {
  let queue = DispatchQueue(label: "loop")
  let stopped = DispatchSemaphore(value: 0)
}

/// A source in an object, to be kept.
private final class Signal {
  let source: any DispatchSourceUserDataAdd
  init(_ source: any DispatchSourceUserDataAdd) { self.source = source }
}

private final class Timers {
  let timers: [any DispatchSourceTimer]

  init(_ queue: DispatchQueue, count: Int) {
    timers = (0..<count).map { value in
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { bench_call(UInt64(value)) }
      return timer
    }
  }
}

func dispatchSubject() -> subject {
  subject(
    make: { keep(SerialQueue()) },
    run: { with($0, as: SerialQueue.self) { $0.stopped.wait() } },
    stop: { with($0, as: SerialQueue.self) { _ = $0.stopped.signal() } },
    pass: nil,
    post: { with($0, as: SerialQueue.self) { $0.queue.async { bench_call(0) } } },
    post_owning: { loop, value in
      with(loop, as: SerialQueue.self) { $0.queue.async { bench_call(value) } }
    },
    make_inbox: nil,
    send_word: { loop, value in
      with(loop, as: SerialQueue.self) { $0.queue.async { bench_call(value) } }
    },
    make_signal: { loop in
      with(loop, as: SerialQueue.self) {
        let source = DispatchSource.makeUserDataAddSource(queue: $0.queue)
        source.setEventHandler { bench_call(0) }
        source.activate()
        return keep(Signal(source))
      }
    },
    send_signal: { with($0, as: Signal.self) { $0.source.add(data: 1) } },
    make_timers: { loop, count in
      with(loop, as: SerialQueue.self) { keep(Timers($0.queue, count: count)) }
    },
    add_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = DispatchTime.now()
        for place in 0..<count {
          let timer = timers.timers[Int(which[place])]
          timer.schedule(deadline: now + .nanoseconds(Int(delays[place])), leeway: .nanoseconds(0))
          timer.activate()
        }
      }
    },
    set_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = DispatchTime.now()
        for place in 0..<count {
          timers.timers[Int(which[place])].schedule(
            deadline: now + .nanoseconds(Int(delays[place])), leeway: .nanoseconds(0))
        }
      }
    },
    cancel_timers: { timers, which, count in
      with(timers, as: Timers.self) { timers in
        for place in 0..<count { timers.timers[Int(which[place])].cancel() }
      }
    },
    free_timers: { Unmanaged<Timers>.fromOpaque($0).release() },
    most_timers: 100_000,
    tick: { loop, nanoseconds in
      with(loop, as: SerialQueue.self) {
        let timer = DispatchSource.makeTimerSource(flags: .strict, queue: $0.queue)
        let interval = DispatchTimeInterval.nanoseconds(Int(nanoseconds))
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .nanoseconds(0))
        timer.setEventHandler { bench_call(0) }
        timer.activate()
        _ = Unmanaged.passRetained(timer as AnyObject)
      }
    },
    precise_tick: nil,
    be_eager: nil,
    watch: { loop, descriptor, value in
      with(loop, as: SerialQueue.self) {
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: $0.queue)
        source.setEventHandler { bench_call(value) }
        source.activate()
        _ = Unmanaged.passRetained(source as AnyObject)
      }
    },
    observe: nil, nest: nil
  )
}
