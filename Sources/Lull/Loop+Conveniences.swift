// SPDX-License-Identifier: Apache-2.0

/// Making an item and adding it, in one go.
extension Loop {
  /// A timer that fires once, after `delay`, added to `mode`. See ``Timer``.
  ///
  /// > Threads: any.
  @discardableResult
  public func schedule(
    after delay: Duration, in mode: Mode = .default, tolerance: Duration = .zero,
    base: TimeBase = .suspending, _ handler: @escaping Timer.Handler
  ) -> Timer {
    let first = Instant(nanoseconds: now(on: base)).advanced(by: delay)
    return schedule(at: first, in: mode, tolerance: tolerance, base: base, handler)
  }

  /// A timer that fires every `interval`, first after one, added to `mode`. See ``Timer``.
  ///
  /// > Threads: any.
  @discardableResult
  public func schedule(
    every interval: Duration, in mode: Mode = .default, tolerance: Duration = .zero,
    base: TimeBase = .suspending, _ handler: @escaping Timer.Handler
  ) -> Timer {
    let first = Instant(nanoseconds: now(on: base)).advanced(by: max(interval, Timer.leastInterval))
    return schedule(
      at: first, every: interval, in: mode, tolerance: tolerance, base: base, handler)
  }

  /// A timer that fires at `first` and then every `interval`, once if that is nil, added to `mode`.
  /// See ``Timer``.
  ///
  /// > Threads: any.
  @discardableResult
  public func schedule(
    at first: Instant, every interval: Duration? = nil, in mode: Mode = .default,
    tolerance: Duration = .zero, base: TimeBase = .suspending, _ handler: @escaping Timer.Handler
  ) -> Timer {
    let timer = Timer(at: first, every: interval, tolerance: tolerance, base: base, handler)
    add(timer, to: mode)
    return timer
  }

  /// A source that watches `descriptor`, added to `mode`. See ``DescriptorSource``.
  ///
  /// > Threads: any.
  @discardableResult
  public func watch(
    _ descriptor: CInt, for interest: Readiness, in mode: Mode = .default,
    _ handler: @escaping DescriptorSource.Handler
  ) throws(DescriptorError) -> DescriptorSource {
    let source = DescriptorSource(descriptor, for: interest, handler)
    try add(source, to: mode)
    return source
  }

  /// An observer of `activities`, added to `mode`. See ``Observer``.
  ///
  /// > Threads: any.
  @discardableResult
  public func observe(
    _ activities: Activities, in mode: Mode = .default, order: Int = 0, repeats: Bool = true,
    _ handler: @escaping Observer.Handler
  ) -> Observer {
    let observer = Observer(activities, order: order, repeats: repeats, handler)
    add(observer, to: mode)
    return observer
  }
}
