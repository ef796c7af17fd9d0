// SPDX-License-Identifier: Apache-2.0

import Lull
import Synchronization

/// The main thread's loop, as the closures below see it without capturing anything.
let loop = Loop.current
/// How many operations a batch has.
let times = 1000
/// How many of them were carried out.
let done = Atomic<Int>(0)

@Sendable func note() { done.wrappingAdd(1, ordering: .sequentiallyConsistent) }

/// The same, for closures that are to capture something.
func note(_ number: Int) {
  latest.store(number, ordering: .relaxed)
  note()
}
private let latest = Atomic<Int>(0)

/// Ends the run with the last of a batch, and before that goes on.
func noteUntilLast(_ goOn: () -> Void) {
  note()
  if done.load(ordering: .sequentiallyConsistent) == times { loop.stop() } else { goOn() }
}

@Sendable func repeatedly(_ body: () -> Void) {
  for _ in 0..<times {
    body()
    note()
  }
}

/// A run of one pass.
func lookAround() { _ = loop.run(in: .default, for: .zero) }

/// A block that posts the next.
@Sendable func hop() { noteUntilLast { loop.perform(hop) } }

/// A timer that makes the next.
@Sendable func tick() {
  loop.schedule(at: soon) { _ in noteUntilLast(tick) }
}

/// Late enough for a loop to sleep until then, and not to count as now in its bookkeeping.
var soon: Loop.Instant { loop.now.advanced(by: .microseconds(300)) }

func farTimer(_ handler: @escaping Loop.Timer.Handler) -> Loop.Timer {
  loop.schedule(every: .seconds(1_000_000), handler)
}

func putOff(_ timer: Loop.Timer) { timer.nextFire = timer.nextFire.advanced(by: .nanoseconds(1)) }

/// Who makes the handler of a source be called again.
private let signaller = Mutex<Elsewhere?>(nil)

func signal(_ body: @escaping @Sendable () -> Void) throws {
  let elsewhere = try Elsewhere(body)
  signaller.withLock { $0 = elsewhere }
}

@Sendable func signalAgain() { signaller.withLock { $0 }?() }

// MARK: Idle work

let idleKey = 7

/// With the next frame far away a share goes on until nothing is left; and costs are learned in
/// buffers that have room for a piece that took long, as one may by accident.
func makeIdleTimeEndless() {
  let slowUntil = loop.now.advanced(by: .milliseconds(100))
  loop.idle.enqueue((), key: idleKey) { _, _ in
    while loop.now < slowUntil {}
    loop.stop()
    return .continue
  }
  loop.run()
  let clock = FrameClock(period: .seconds(1_000_000))
  clock.frameBegan(dueAt: loop.now)
  loop.idle.frameClock = clock
}
