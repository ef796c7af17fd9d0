// SPDX-License-Identifier: Apache-2.0

extension MainLoop {
  /// The main loop's idle work, with pieces that run on the main actor. Any thread.
  public var idle: MainIdleQueue { MainIdleQueue(queue: loop.idle) }
}

/// The main loop's idle work: an ``IdleQueue`` whose pieces run on the main actor.
///
/// > Threads: any, unless said otherwise there.
public struct MainIdleQueue: Sendable {
  /// The queue itself, whose closures are not of the main actor.
  public let queue: IdleQueue

  /// See ``IdleQueue/frameClock``.
  public var frameClock: FrameClock? {
    get { queue.frameClock }
    nonmutating set { queue.frameClock = newValue }
  }

  /// See ``IdleQueue/limit``.
  public var limit: Int {
    get { queue.limit }
    nonmutating set { queue.limit = newValue }
  }

  /// See ``IdleQueue/count``.
  public var count: Int { queue.count }

  /// Walks a sequence on the main actor in idle time. See
  /// ``IdleQueue/forEach(_:priority:maximumWait:weight:onEnd:_:)``.
  @discardableResult
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, priority: IdleWork.Priority = .medium,
    maximumWait: Duration = .seconds(1), weight: (@MainActor (Elements.Element) -> Int)? = nil,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    queue.forEach(
      elements, priority: priority, maximumWait: maximumWait,
      weight: weight.map { OnMain.weighing($0) }, onEnd: onEnd.map { OnMain.closure($0) },
      OnMain.answering(body))
  }

  /// Walks a sequence on the main actor in idle time, as work of `key`. See
  /// ``IdleQueue/forEach(_:key:priority:maximumWait:weight:onEnd:_:)``.
  @discardableResult
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, key: some Hashable & Sendable,
    priority: IdleWork.Priority = .medium, maximumWait: Duration = .seconds(1),
    weight: (@MainActor (Elements.Element) -> Int)? = nil,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    queue.forEach(
      elements, key: key, priority: priority, maximumWait: maximumWait,
      weight: weight.map { OnMain.weighing($0) }, onEnd: onEnd.map { OnMain.closure($0) },
      OnMain.answering(body))
  }

  /// Hands an object to its key on the main actor in idle time. See
  /// ``IdleQueue/enqueue(_:key:priority:maximumWait:weight:onEnd:_:)``.
  @discardableResult
  public func enqueue<Key: Hashable & Sendable, Object>(
    _ object: sending Object, key: Key, priority: IdleWork.Priority = .medium,
    maximumWait: Duration = .seconds(1), weight: Int = 1,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor (Key, Object) throws -> IdleAnswer
  ) -> IdleWork {
    queue.enqueue(
      object, key: key, priority: priority, maximumWait: maximumWait, weight: weight,
      onEnd: onEnd.map { OnMain.closure($0) }, OnMain.answering(body))
  }

  /// See ``IdleQueue/cancel(key:)``.
  public func cancel(key: some Hashable & Sendable) { queue.cancel(key: key) }
}
