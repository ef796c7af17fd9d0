// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lull
import Testing

/// Loops that buy time with the processor's.
@Suite struct `An eager loop` {
  @Test func `with a lead fires no timer before its date`() {
    onLoopThread { loop in
      loop.timerLead = .milliseconds(1)
      let fired = Shared(0)
      let timer = Loop.Timer(every: .milliseconds(2)) { timer in
        #expect(loop.now >= timer.nextFire)
        fired.value += 1
        if fired.value == 20 { loop.stop() }
      }
      loop.add(timer)
      #expect(loop.run(in: .default, for: .seconds(60)) == .stopped)
    }
  }

  /// What is collected a moment before its date may have another by then.
  @Test func `with a lead honours what an earlier timer's handler says of one that is due next`() {
    onLoopThread { loop in
      loop.timerLead = .milliseconds(1)
      let late = Shared<Loop.Timer?>(nil)
      let (rounds, fired) = (Shared(0), Shared(0))
      loop.schedule(every: .milliseconds(2)) { timer in
        rounds.value += 1
        if rounds.value == 100 { return loop.stop() }
        // For the same date as the next of this one; and then, when both are due, put off.
        let isPutOff = rounds.value.isMultiple(of: 2)
        late.value?.nextFire = timer.nextFire.advanced(
          by: isPutOff ? .microseconds(9) : .milliseconds(2))
      }
      late.value = loop.schedule(at: .distantFuture, every: .seconds(1)) { timer in
        #expect(loop.now >= timer.nextFire)
        fired.value += 1
      }
      #expect(loop.run(in: .default, for: .seconds(60)) == .stopped)
      #expect(fired.value > 0)
    }
  }

  @Test func `lets nobody see how it prepares for a timer`() {
    onLoopThread { loop in
      let trace = CalloutCounter()
      loop.trace = trace
      loop.timerLead = .milliseconds(1)
      let modes = loop.modes
      let fired = Shared(0)
      loop.schedule(every: .milliseconds(2)) { _ in
        fired.value += 1
        if fired.value == 10 { loop.stop() }
      }
      #expect(loop.run(in: .default, for: .seconds(60)) == .stopped)
      #expect(loop.modes == modes)
      #expect(trace.count == 10)
    }
  }

  /// The lead is as long as the whole wait: all of it is spent looking at the clock.
  @Test func `serves posts and descriptors while it waits for a date`() {
    let runner = LoopRunner { loop in
      loop.timerLead = .seconds(600)
      loop.schedule(after: .seconds(600)) { _ in Issue.record("the date has not come") }
    }
    for _ in 0..<3 { runner.onLoop {} }
    let pipe = Pipe()
    let read = DispatchSemaphore(value: 0)
    let source = Loop.DescriptorSource(pipe.reader, for: .readable) { _, _ in
      _ = pipe.read(1)
      read.signal()
    }
    try! runner.loop.add(source)
    for _ in 0..<3 {
      pipe.write(1)
      #expect(read.wait(timeout: .now() + .seconds(60)) == .success)
    }
    runner.stop()
  }

  /// The wait for the one clock's timer ends for the other's.
  @Test func `serves timers of both clocks at their dates`() {
    onLoopThread { loop in
      loop.timerLead = .milliseconds(1)
      let late = loop.schedule(after: .seconds(600)) { _ in Issue.record("too early") }
      let fired = Shared(0)
      let timer = loop.schedule(every: .milliseconds(2), base: .continuous) { _ in
        fired.value += 1
        if fired.value == 5 { loop.stop() }
      }
      #expect(loop.run(in: .default, for: .seconds(60)) == .stopped)
      timer.invalidate()
      // Within the lead of the one, and before the run's limit, the other's date comes too.
      late.nextFire = loop.now.advanced(by: .seconds(30))
      loop.timerLead = .seconds(600)
      loop.schedule(after: .milliseconds(2), base: .continuous) { _ in loop.stop() }
      #expect(loop.run(in: .default, for: .seconds(60)) == .stopped)
      late.invalidate()
    }
  }

  @Test func `that spins hears all that is posted, in order`() {
    let rounds = 20_000 * stress
    let ends = [
      LoopRunner { $0.spinsBeforeSleep = true }, LoopRunner { $0.spinsBeforeSleep = true },
    ]
    let done = DispatchSemaphore(value: 0)
    @Sendable func play(_ round: Int) {
      #expect(ends[round % 2].loop.isCurrent)
      guard round < rounds else { return _ = done.signal() }
      ends[(round + 1) % 2].loop.perform { play(round + 1) }
    }
    ends[0].loop.perform { play(0) }
    #expect(done.wait(timeout: .now() + .seconds(60)) == .success)
    for end in ends { end.stop() }
  }

  @Test func `can be calmed again`() {
    onLoopThread { loop in
      #expect(!loop.spinsBeforeSleep && loop.timerLead == .zero)
      loop.spinsBeforeSleep = true
      loop.timerLead = .seconds(-1)
      #expect(loop.spinsBeforeSleep && loop.timerLead == .zero)
      loop.timerLead = .microseconds(150)
      #expect(loop.timerLead == .microseconds(150))
      loop.spinsBeforeSleep = false
      #expect(!loop.spinsBeforeSleep)
    }
  }
}

private final class CalloutCounter: Loop.TraceSink, @unchecked Sendable {  // of one thread
  private(set) var count = 0

  func record(_ event: Loop.TraceEvent, at instant: Loop.Instant) {
    if case .calloutBegins = event { count += 1 }
  }
}
