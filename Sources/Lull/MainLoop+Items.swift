// SPDX-License-Identifier: Apache-2.0

/// Items with main-actor handlers. They are for the main loop: added to another, they trap.
extension MainLoop {
  // MARK: Made only

  /// A timer that calls the main actor. See ``Loop/Timer``.
  public func makeTimer(
    at first: Loop.Instant, every interval: Duration? = nil, tolerance: Duration = .zero,
    base: Loop.TimeBase = .suspending, _ handler: @escaping @MainActor (Loop.Timer) -> Void
  ) -> Loop.Timer {
    let timer = Loop.Timer(
      at: first, every: interval, tolerance: tolerance, base: base, OnMain.closure(handler))
    timer.traits.insert(.forMain)
    return timer
  }

  /// A source that calls the main actor. See ``Loop/Source``.
  public func makeSource(
    order: Int = 0, schedule: (@MainActor (Loop.Source, Loop, Loop.Mode) -> Void)? = nil,
    cancel: (@MainActor (Loop.Source, Loop, Loop.Mode) -> Void)? = nil,
    _ perform: @escaping @MainActor (Loop.Source) -> Void
  ) -> Loop.Source {
    let source = Loop.Source(
      order: order, schedule: schedule.map { OnMain.closure($0) },
      cancel: cancel.map { OnMain.closure($0) }, OnMain.closure(perform))
    source.traits.insert(.forMain)
    return source
  }

  /// A descriptor source that calls the main actor. See ``Loop/DescriptorSource``.
  public func makeDescriptorSource(
    _ descriptor: CInt, for interest: Loop.Readiness,
    _ handler: @escaping @MainActor (Loop.DescriptorSource, Loop.Readiness) -> Void
  ) -> Loop.DescriptorSource {
    let source = Loop.DescriptorSource(descriptor, for: interest, OnMain.closure(handler))
    source.traits.insert(.forMain)
    return source
  }

  /// An observer that calls the main actor. See ``Loop/Observer``.
  public func makeObserver(
    _ activities: Loop.Activities, order: Int = 0, repeats: Bool = true,
    _ handler: @escaping @MainActor (Loop.Observer, Loop.Activities) -> Void
  ) -> Loop.Observer {
    let observer = Loop.Observer(
      activities, order: order, repeats: repeats, OnMain.closure(handler))
    observer.traits.insert(.forMain)
    return observer
  }

  /// A mailbox that calls the main actor. See ``Loop/Mailbox``.
  public func makeMailbox<Value>(
    of type: Value.Type = Value.self, limit: Int = .max, order: Int = 0,
    _ handler: @escaping @MainActor (Loop.Mailbox<Value>, [Value]) -> Void
  ) -> Loop.Mailbox<Value> {
    let mailbox = Loop.Mailbox<Value>(limit: limit, order: order, OnMain.closure(handler))
    mailbox.traits.insert(.forMain)
    return mailbox
  }

  /// A source for a POSIX signal that calls the main actor. See ``Loop/SignalSource``.
  public func makeSignalSource(
    _ signal: CInt, _ handler: @escaping @MainActor (Loop.SignalSource, Int) -> Void
  ) throws(Loop.SignalError) -> Loop.SignalSource {
    let source = try Loop.SignalSource(signal, OnMain.closure(handler))
    source.traits.insert(.forMain)
    return source
  }

  /// A source for the end of a child process that calls the main actor. See ``Loop/ProcessSource``.
  public func makeProcessSource(
    _ process: CInt,
    _ handler: @escaping @MainActor (Loop.ProcessSource, Loop.ProcessSource.End) -> Void
  ) throws(Loop.ProcessError) -> Loop.ProcessSource {
    let source = try Loop.ProcessSource(process, OnMain.closure(handler))
    source.traits.insert(.forMain)
    return source
  }

  // MARK: Made and added

  /// A timer that fires once, after `delay`, added to `mode`. See ``Loop/Timer``.
  @discardableResult
  public func schedule(
    after delay: Duration, in mode: Loop.Mode = .default, tolerance: Duration = .zero,
    base: Loop.TimeBase = .suspending, _ handler: @escaping @MainActor (Loop.Timer) -> Void
  ) -> Loop.Timer {
    let first = Loop.Instant(nanoseconds: loop.now(on: base)).advanced(by: delay)
    return schedule(at: first, in: mode, tolerance: tolerance, base: base, handler)
  }

  /// A timer that fires every `interval`, first after one, added to `mode`. See ``Loop/Timer``.
  @discardableResult
  public func schedule(
    every interval: Duration, in mode: Loop.Mode = .default, tolerance: Duration = .zero,
    base: Loop.TimeBase = .suspending, _ handler: @escaping @MainActor (Loop.Timer) -> Void
  ) -> Loop.Timer {
    let first = Loop.Instant(nanoseconds: loop.now(on: base))
      .advanced(by: max(interval, Loop.Timer.leastInterval))
    return schedule(
      at: first, every: interval, in: mode, tolerance: tolerance, base: base, handler)
  }

  /// A timer that fires at `first` and then every `interval`, once if that is nil, added to `mode`.
  @discardableResult
  public func schedule(
    at first: Loop.Instant, every interval: Duration? = nil, in mode: Loop.Mode = .default,
    tolerance: Duration = .zero, base: Loop.TimeBase = .suspending,
    _ handler: @escaping @MainActor (Loop.Timer) -> Void
  ) -> Loop.Timer {
    let timer = makeTimer(at: first, every: interval, tolerance: tolerance, base: base, handler)
    add(timer, to: mode)
    return timer
  }

  /// A source that watches `descriptor`, added to `mode`. See ``Loop/DescriptorSource``.
  @discardableResult
  public func watch(
    _ descriptor: CInt, for interest: Loop.Readiness, in mode: Loop.Mode = .default,
    _ handler: @escaping @MainActor (Loop.DescriptorSource, Loop.Readiness) -> Void
  ) throws(Loop.DescriptorError) -> Loop.DescriptorSource {
    let source = makeDescriptorSource(descriptor, for: interest, handler)
    try add(source, to: mode)
    return source
  }

  /// An observer of `activities`, added to `mode`. See ``Loop/Observer``.
  @discardableResult
  public func observe(
    _ activities: Loop.Activities, in mode: Loop.Mode = .default, order: Int = 0,
    repeats: Bool = true, _ handler: @escaping @MainActor (Loop.Observer, Loop.Activities) -> Void
  ) -> Loop.Observer {
    let observer = makeObserver(activities, order: order, repeats: repeats, handler)
    add(observer, to: mode)
    return observer
  }
}
