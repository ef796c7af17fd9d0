// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import Lull

/// Runs `body` on a new thread whose loop lives on virtual time, and waits for it.
///
/// The loop is `Loop.current` there, and ends with the thread: cancel handlers have been called
/// when this returns.
///
/// - Parameters:
///   - commonModes: What the common modes are; on the main loop that would be default, modal panel
///     and event tracking.
///   - clockGranularity: The steps of a coarse clock: it reads the last, and waits end with one.
///   - body: What to do there. What it throws is thrown here.
public func withVirtualLoop<Result, Failure: Error>(
  commonModes: [Loop.Mode] = [.default], clockGranularity: Duration = .nanoseconds(1),
  _ body: (Loop, VirtualTime) throws(Failure) -> Result
) throws(Failure) -> Result {
  try onNewThread { () throws(Failure) -> Result in
    let granularity = Loop.Instant(nanoseconds: 0).advanced(by: clockGranularity).nanoseconds
    let poller = VirtualPoller(granularity: granularity)
    let loop = Loop.makeCurrent(on: poller)
    loop.host = VirtualHost.wanted(poller)
    for mode in commonModes where mode != .default { loop.addCommonMode(mode) }
    // What a test leaves there may hold the loop, which holds the clock.
    defer { poller.forget() }
    return try body(loop, VirtualTime(poller: poller))
  }
}

/// The same with a loop that takes itself for the main thread's, except for its queue.
package func withVirtualMainLoop<Result, Failure: Error>(
  _ body: (Loop, VirtualTime) throws(Failure) -> Result
) throws(Failure) -> Result {
  try onNewThread { () throws(Failure) -> Result in
    let poller = VirtualPoller()
    let loop = Loop.makeCurrent(on: poller, asMain: true)
    loop.host = VirtualHost.wanted(poller)
    return try body(loop, VirtualTime(poller: poller))
  }
}

/// Carries the runs of loops on virtual time, where `LULL_GUEST` asks for it.
private final class VirtualHost: Loop.Host {
  private let poller: VirtualPoller

  private init(_ poller: VirtualPoller) { self.poller = poller }

  static func wanted(_ poller: VirtualPoller) -> VirtualHost? {
    unsafe getenv("LULL_GUEST") == nil ? nil : VirtualHost(poller)
  }

  func wait(for loop: Loop) { poller.waitInItsStead() }
}

/// Runs `body` on a new thread and waits until the thread has ended, its loop with it.
///
/// For tests of what belongs to a thread: a closure on a task may land on any, even the same.
public func onNewThread<Result, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  var outcome: Swift.Result<Result, Failure>?
  withoutActuallyEscaping(body) { body in
    onAnotherThread(unsafe uncheckedSendable { outcome = Swift.Result(catching: body) })
  }
  return try outcome!.get()
}

/// Takes a closure to the one thread that runs it while its maker waits.
@unsafe
private func uncheckedSendable(_ body: @escaping () -> Void) -> @Sendable () -> Void {
  unsafe unsafeBitCast(body, to: (@Sendable () -> Void).self)
}

/// Runs something on a thread of its own and waits for its end.
func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
  let box = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
  var thread = pthread_t()
  let code = unsafe pthread_create(&thread, nil, runWork, box)
  precondition(
    code == 0, "no thread can be had for a test: \(SystemError(code: code, call: "pthread_create"))"
  )
  pthread_join(thread, nil)
}

private final class Work {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// The thread's function: top-level, since C callbacks may not inherit isolation.
private func runWork(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  unsafe Unmanaged<Work>.fromOpaque(box!).takeRetainedValue().body()
  return nil
}
