// SPDX-License-Identifier: Apache-2.0

/// A run loop of a real thread in real time, with just what `LiveScenario` needs.
///
/// Unlike a `RunLoopUnderTest` it may be the main thread's, and other threads may call it.
package protocol LiveLoop: Sendable, SendableMetatype {
  /// The calling thread's loop.
  static var current: Self { get }

  /// Runs for some seconds. The loop's thread.
  func run(_ mode: Mode, seconds: Double, once: Bool) -> Outcome

  /// Stops it. Any thread.
  func stop()

  /// Queues a block, and wakes nobody but as that itself does. Any thread.
  func perform(in mode: Mode, _ body: @escaping @Sendable () -> Void)

  /// Adds a timer that fires once. Any thread.
  func addTimer(after seconds: Double, to mode: Mode, _ body: @escaping @Sendable () -> Void)

  /// Adds a source that is signalled by hand. Any thread.
  func addSource(to mode: Mode, _ body: @escaping @Sendable () -> Void) -> any LiveSource
}

/// A source of a `LiveLoop`.
package protocol LiveSource: Sendable {
  /// Signals it and wakes its loop. Any thread.
  func signal()

  /// Ends it. Any thread.
  func invalidate()
}
