// SPDX-License-Identifier: Apache-2.0

import CSubjects
import CoreFoundation

private typealias Timers = TimerSet<CFRunLoop, CFRunLoopTimer>

private func makeSource(_ perform: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void)
  -> CFRunLoopSource
{
  var context = CFRunLoopSourceContext()
  context.perform = perform
  return CFRunLoopSourceCreate(nil, 0, &context)
}

/// A source and the loop to wake for it.
private final class Signal {
  let source: CFRunLoopSource
  let loop: CFRunLoop

  init(_ source: CFRunLoopSource, _ loop: CFRunLoop) {
    self.source = source
    self.loop = loop
  }
}

nonisolated(unsafe) private let nestedMode = CFStringCreateWithCString(nil, "nested", 0x0800_0100)

private func perform(_ loop: CFRunLoop, _ job: @escaping () -> Void) {
  CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, job)
  CFRunLoopWakeUp(loop)
}

func coreFoundationSubject() -> subject {
  subject(
    make: {
      let loop = CFRunLoopGetCurrent()!
      CFRunLoopAddSource(loop, makeSource { _ in }, kCFRunLoopDefaultMode)
      CFRunLoopAddSource(loop, makeSource { _ in }, nestedMode)
      return keep(loop)
    },
    run: { _ in CFRunLoopRun() },
    stop: { with($0, as: CFRunLoop.self) { CFRunLoopStop($0) } },
    pass: { _ in CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) },
    post: { with($0, as: CFRunLoop.self) { perform($0) { bench_call(0) } } },
    post_owning: { loop, value in
      with(loop, as: CFRunLoop.self) { perform($0) { bench_call(value) } }
    },
    make_inbox: nil,
    send_word: { loop, value in
      with(loop, as: CFRunLoop.self) { perform($0) { bench_call(value) } }
    },
    make_signal: { loop in
      with(loop, as: CFRunLoop.self) {
        let source = makeSource { _ in bench_call(0) }
        CFRunLoopAddSource($0, source, kCFRunLoopDefaultMode)
        return keep(Signal(source, $0))
      }
    },
    send_signal: {
      with($0, as: Signal.self) {
        CFRunLoopSourceSignal($0.source)
        CFRunLoopWakeUp($0.loop)
      }
    },
    make_timers: { loop, count in
      with(loop, as: CFRunLoop.self) {
        keep(
          Timers($0, count: count) { value in
            CFRunLoopTimerCreateWithHandler(nil, .greatestFiniteMagnitude, 0, 0, 0) { _ in
              bench_call(value)
            }
          })
      }
    },
    add_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = CFAbsoluteTimeGetCurrent()
        timers.forEach(which, count) { timer, place in
          CFRunLoopTimerSetNextFireDate(timer, now + Double(delays[place]) * 1e-9)
          CFRunLoopAddTimer(timers.loop, timer, kCFRunLoopDefaultMode)
        }
      }
    },
    set_timers: { timers, which, delays, count in
      with(timers, as: Timers.self) { timers in
        let now = CFAbsoluteTimeGetCurrent()
        timers.forEach(which, count) { timer, place in
          CFRunLoopTimerSetNextFireDate(timer, now + Double(delays[place]) * 1e-9)
        }
      }
    },
    cancel_timers: { timers, which, count in
      with(timers, as: Timers.self) { timers in
        timers.forEach(which, count) { timer, _ in
          CFRunLoopRemoveTimer(timers.loop, timer, kCFRunLoopDefaultMode)
        }
      }
    },
    free_timers: { Timers.free($0) },
    most_timers: 10_000,
    tick: { loop, nanoseconds in
      with(loop, as: CFRunLoop.self) {
        let interval = Double(nanoseconds) * 1e-9
        let timer = CFRunLoopTimerCreateWithHandler(
          nil, CFAbsoluteTimeGetCurrent() + interval, interval, 0, 0
        ) { _ in bench_call(0) }
        CFRunLoopAddTimer($0, timer, kCFRunLoopDefaultMode)
      }
    },
    precise_tick: nil,
    be_eager: nil,
    watch: { loop, descriptor, value in
      with(loop, as: CFRunLoop.self) {
        // Its port sources are no way: the loop itself reads eight bytes from them.
        var context = CFSocketContext()
        context.info = UnsafeMutableRawPointer(bitPattern: UInt(value + 1))
        let socket = CFSocketCreateWithNative(
          nil, descriptor, CFSocketCallBackType.readCallBack.rawValue,
          { _, _, _, _, info in bench_call(UInt64(UInt(bitPattern: info)) - 1) }, &context)
        let source = CFSocketCreateRunLoopSource(nil, socket, 0)
        CFRunLoopAddSource($0, source, kCFRunLoopDefaultMode)
      }
    },
    observe: { loop in
      with(loop, as: CFRunLoop.self) {
        let points: [CFRunLoopActivity] = [
          .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        for point in points {
          let observer = CFRunLoopObserverCreateWithHandler(nil, point.rawValue, true, 0) {
            _, _ in bench_call(0)
          }
          CFRunLoopAddObserver($0, observer, kCFRunLoopDefaultMode)
        }
      }
    },
    nest: { _ in CFRunLoopRunInMode(nestedMode, 0, false) }
  )
}
