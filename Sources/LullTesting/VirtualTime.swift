// SPDX-License-Identifier: Apache-2.0

public import Lull

/// Time that passes only when a loop would sleep, or when a test says that work takes some.
///
/// An hour of timers runs in milliseconds, the same each time. What other threads would do is
/// scripted: at its moment it happens on a real thread of its own, which is waited for, so that it
/// takes the same way as in life and still comes in order.
///
/// ```swift
/// withVirtualLoop { loop, time in
///   loop.schedule(after: .seconds(60)) { _ in print("a minute is over") }
///   time.after(.seconds(30)) { loop.perform { print("half of it") } }
///   _ = loop.run(in: .default, for: .seconds(61))
/// }
/// ```
///
/// A loop that would sleep for ever, with nothing scripted that could wake it, traps.
///
/// > Threads: the loop's, and those that it starts itself.
public struct VirtualTime: Sendable {
  let poller: VirtualPoller

  /// Now, from zero at the start of the test. A coarse clock may be behind: see
  /// ``/Lull/Loop/now``.
  public var now: Loop.Instant { Loop.Instant(nanoseconds: poller.elapsed) }

  /// Lets time pass, as work in a callout does. What is scripted for that time happens meanwhile.
  public func advance(by duration: Duration) {
    poller.advance(to: now.advanced(by: duration).nanoseconds)
  }

  /// The machine is suspended for a while: the monotonic clock stands still, the continuous one
  /// goes on.
  public func suspend(for duration: Duration) {
    poller.suspend(for: Loop.Instant(nanoseconds: 0).advanced(by: duration).nanoseconds)
  }

  /// The processor is given to others for a while, though the loop's thread could have gone on.
  public func preempt(for duration: Duration) {
    poller.preempt()
    advance(by: duration)
  }

  /// Does something on another thread when `delay` has passed from now: in the loop's sleep, or
  /// during work that takes longer.
  public func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
    poller.script(at: now.advanced(by: delay).nanoseconds, action)
  }

  /// A descriptor that is ready when the test says so. Real ones cannot be watched on virtual time.
  public func makeDescriptor() -> ScriptedDescriptor {
    ScriptedDescriptor(number: poller.makeDescriptor(), poller: poller)
  }

  /// Does something else than trap when nothing would ever wake the loop: it has to wake or stop
  /// it. On the loop's thread.
  public func whenAsleepForEver(_ action: @escaping () -> Void) { poller.asleepForEver = action }

  /// How often the loop asked what is ready, waiting or not.
  public var waits: Int { poller.counts.waits }

  /// How often it slept: time passed in the wait.
  public var sleeps: Int { poller.counts.sleeps }
}

/// A descriptor of virtual time.
public struct ScriptedDescriptor: Sendable {
  /// Its number, to watch.
  public let number: CInt
  let poller: VirtualPoller

  /// Makes it ready, or not. From a script of ``VirtualTime/after(_:_:)`` or a callout.
  public func become(_ readiness: Loop.Readiness) { poller.set(readiness, of: number) }

  /// What it is ready for.
  public var readiness: Loop.Readiness { poller.readiness(of: number) }
}
