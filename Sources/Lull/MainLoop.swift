// SPDX-License-Identifier: Apache-2.0

/// The main thread's loop, with closures that run on the main actor: they may touch views and
/// models.
///
/// It is a view of the same loop that ``Loop/current`` gives on the main thread; what is said there
/// holds here. ``makeTimer(at:every:tolerance:base:_:)`` and its like make items with main-actor
/// handlers, for the main loop only; ``schedule(every:in:tolerance:base:_:)`` and its like add them
/// too.
///
/// ```swift
/// Loop.main.schedule(every: .seconds(1), in: .common) { timer in clock.tick() }
/// Loop.main.run()
/// ```
///
/// > Threads: any, except for runs and questions about contents, as in ``Loop``.
public struct MainLoop: Sendable {
  /// The loop itself, whose closures are `@Sendable`.
  public let loop: Loop

  // MARK: Running

  /// See ``Loop/run()``.
  @available(*, noasync, message: "a run blocks the main thread: call it from a synchronous main")
  @discardableResult
  public func run() -> Loop.RunResult { loop.run() }

  /// See ``Loop/run(in:for:returnAfterSourceHandled:)``.
  @available(*, noasync, message: "a run blocks the main thread: call it from a synchronous main")
  public func run(
    in mode: Loop.Mode, for duration: Duration, returnAfterSourceHandled: Bool = false
  ) -> Loop.RunResult {
    loop.run(in: mode, for: duration, returnAfterSourceHandled: returnAfterSourceHandled)
  }

  /// See ``Loop/run(in:until:returnAfterSourceHandled:)``.
  @available(*, noasync, message: "a run blocks the main thread: call it from a synchronous main")
  public func run(
    in mode: Loop.Mode, until limit: Loop.Instant = .distantFuture,
    returnAfterSourceHandled: Bool = false
  ) -> Loop.RunResult {
    loop.run(in: mode, until: limit, returnAfterSourceHandled: returnAfterSourceHandled)
  }

  /// See ``Loop/stop()``. Any thread, and signal handlers.
  public func stop() { loop.stop() }

  /// See ``Loop/wakeUp()``. Any thread, and signal handlers.
  public func wakeUp() { loop.wakeUp() }

  // MARK: As a guest

  /// See ``Loop/pollDescriptor``.
  public var pollDescriptor: CInt {
    get throws(SystemError) { try loop.pollDescriptor }
  }

  /// See ``Loop/turn(in:budget:)``.
  @available(*, noasync, message: "a loop belongs to a thread: give turns from synchronous code")
  @discardableResult
  public func turn(
    in mode: Loop.Mode = .default, budget: Duration = .milliseconds(8)
  ) -> Loop.TurnResult { loop.turn(in: mode, budget: budget) }

  /// See ``Loop/endTurns()``.
  @available(*, noasync, message: "a loop belongs to a thread: end its turns from synchronous code")
  public func endTurns() { loop.endTurns() }

  /// See ``Loop/nextDeadline``.
  public var nextDeadline: Loop.Instant? { loop.nextDeadline }

  // MARK: State

  /// See ``Loop/isWaiting``.
  public var isWaiting: Bool { loop.isWaiting }

  /// See ``Loop/currentMode``.
  public var currentMode: Loop.Mode? { loop.currentMode }

  /// See ``Loop/now``.
  public var now: Loop.Instant { loop.now }

  // MARK: Contents

  /// See ``Loop/modes``.
  public var modes: Set<Loop.Mode> { loop.modes }

  /// See ``Loop/addCommonMode(_:)``.
  public func addCommonMode(_ mode: Loop.Mode) { loop.addCommonMode(mode) }

  /// See ``Loop/add(_:to:)-(Loop.Timer,_)``.
  public func add(_ timer: Loop.Timer, to mode: Loop.Mode = .default) { loop.add(timer, to: mode) }

  /// See ``Loop/add(_:to:)-(Loop.Observer,_)``.
  public func add(_ observer: Loop.Observer, to mode: Loop.Mode = .default) {
    loop.add(observer, to: mode)
  }

  /// See ``Loop/add(_:to:)-(Loop.Source,_)``.
  public func add(_ source: Loop.Source, to mode: Loop.Mode = .default) {
    loop.add(source, to: mode)
  }

  /// See ``Loop/add(_:to:)-(Loop.DescriptorSource,_)``.
  public func add(
    _ source: Loop.DescriptorSource, to mode: Loop.Mode = .default
  ) throws(Loop.DescriptorError) { try loop.add(source, to: mode) }

  /// See ``Loop/remove(_:from:)``.
  public func remove(_ item: Loop.Item, from mode: Loop.Mode) { loop.remove(item, from: mode) }

  /// See ``Loop/contains(_:in:)``.
  public func contains(_ item: Loop.Item, in mode: Loop.Mode) -> Bool {
    loop.contains(item, in: mode)
  }

  /// See ``Loop/nextFire(in:)``.
  public func nextFire(in mode: Loop.Mode) -> Loop.Instant? { loop.nextFire(in: mode) }

  /// See ``Loop/spinsBeforeSleep``.
  public var spinsBeforeSleep: Bool {
    get { loop.spinsBeforeSleep }
    nonmutating set { loop.spinsBeforeSleep = newValue }
  }

  /// See ``Loop/timerLead``.
  public var timerLead: Duration {
    get { loop.timerLead }
    nonmutating set { loop.timerLead = newValue }
  }

  /// See ``Loop/trace``.
  public var trace: (any Loop.TraceSink)? {
    get { loop.trace }
    nonmutating set { loop.trace = newValue }
  }

  // MARK: Blocks

  /// Runs `body` once on the main actor. See ``Loop/perform(in:_:)-(Loop.Mode,_)``.
  public func perform(in mode: Loop.Mode = .default, _ body: @escaping @MainActor () -> Void) {
    loop.perform(in: mode, OnMain.closure(body))
  }

  /// Runs `body` once on the main actor, in whichever of several modes runs first.
  public func perform(in modes: [Loop.Mode], _ body: @escaping @MainActor () -> Void) {
    loop.perform(in: modes, OnMain.closure(body))
  }
}
