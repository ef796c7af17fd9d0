// SPDX-License-Identifier: Apache-2.0

/// Closures of the main actor, to be called by the main loop on the main thread without a check.
///
/// A synchronous main-actor function is called like any other; only the compiler knows the
/// difference. `MainActor.assumeIsolated` around each callout would say the same for 130 ns. The
/// main loop's callouts are on the main thread by construction, and runs elsewhere trap.
@usableFromInline
enum OnMain {
  @inlinable
  static func closure(_ body: @escaping @MainActor () -> Void) -> @Sendable () -> Void {
    unsafe unsafeBitCast(body, to: (@Sendable () -> Void).self)
  }

  @inlinable
  static func closure<A>(_ body: @escaping @MainActor (A) -> Void) -> @Sendable (A) -> Void {
    unsafe unsafeBitCast(body, to: (@Sendable (A) -> Void).self)
  }

  @inlinable
  static func closure<A, B>(_ body: @escaping @MainActor (A, B) -> Void) -> @Sendable (A, B) -> Void
  {
    unsafe unsafeBitCast(body, to: (@Sendable (A, B) -> Void).self)
  }

  @inlinable
  static func closure<A, B, C>(
    _ body: @escaping @MainActor (A, B, C) -> Void
  ) -> @Sendable (A, B, C) -> Void {
    unsafe unsafeBitCast(body, to: (@Sendable (A, B, C) -> Void).self)
  }

  @inlinable
  static func answering<A, B>(
    _ body: @escaping @MainActor (A, B) throws -> IdleAnswer
  ) -> @Sendable (A, B) throws -> IdleAnswer {
    unsafe unsafeBitCast(body, to: (@Sendable (A, B) throws -> IdleAnswer).self)
  }

  @inlinable
  static func weighing<A>(_ body: @escaping @MainActor (A) -> Int) -> @Sendable (A) -> Int {
    unsafe unsafeBitCast(body, to: (@Sendable (A) -> Int).self)
  }

  @inlinable
  static func stepping(
    _ body: @escaping @MainActor () throws -> IdleStep
  ) -> @Sendable () throws -> IdleStep {
    unsafe unsafeBitCast(body, to: (@Sendable () throws -> IdleStep).self)
  }

  @inlinable
  static func committing<A>(
    _ body: @escaping @MainActor (A) throws -> Void
  ) -> @Sendable (A) throws -> Void {
    unsafe unsafeBitCast(body, to: (@Sendable (A) throws -> Void).self)
  }
}
