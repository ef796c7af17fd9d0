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

  /// See ``IdleQueue/overflow-swift.property``.
  public var overflow: IdleQueue.Overflow {
    get { queue.overflow }
    nonmutating set { queue.overflow = newValue }
  }

  /// See ``IdleQueue/count``.
  public var count: Int { queue.count }

  /// See ``IdleQueue/report``.
  public var report: IdleReport { queue.report }

  /// See ``IdleQueue/resetReport()``.
  public func resetReport() { queue.resetReport() }

  /// Walks a sequence on the main actor in idle time. See
  /// ``IdleQueue/forEach(_:options:weight:onEnd:_:)``.
  @discardableResult
  @inlinable
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, options: IdleWork.Options = .init(),
    weight: (@MainActor (Elements.Element) -> Int)? = nil,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    queue.forEach(
      elements, options: options, weight: weight.map { OnMain.weighing($0) },
      onEnd: onEnd.map { OnMain.closure($0) }, OnMain.answering(body))
  }

  /// Walks a sequence on the main actor in idle time, as work of `key`. See
  /// ``IdleQueue/forEach(_:key:options:weight:onEnd:_:)``.
  @discardableResult
  @inlinable
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, key: some Hashable & Sendable,
    options: IdleWork.Options = .init(), weight: (@MainActor (Elements.Element) -> Int)? = nil,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    queue.forEach(
      elements, key: key, options: options, weight: weight.map { OnMain.weighing($0) },
      onEnd: onEnd.map { OnMain.closure($0) }, OnMain.answering(body))
  }

  /// Hands an object to its key on the main actor in idle time. See
  /// ``IdleQueue/enqueue(_:key:options:weight:onEnd:_:)``.
  @discardableResult
  @inlinable
  public func enqueue<Key: Hashable & Sendable, Object>(
    _ object: sending Object, key: Key, options: IdleWork.Options = .init(), weight: Int = 1,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor (Key, Object) throws -> IdleAnswer
  ) -> IdleWork {
    queue.enqueue(
      object, key: key, options: options, weight: weight,
      onEnd: onEnd.map { OnMain.closure($0) }, OnMain.answering(body))
  }

  /// Runs `body` on the main actor in idle time until it answers that all is done. See
  /// ``IdleQueue/perform(key:options:weight:onEnd:_:)``.
  @discardableResult
  public func perform(
    key: some Hashable & Sendable, options: IdleWork.Options = .init(), weight: Int = 1,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ body: @escaping @MainActor () throws -> IdleStep
  ) -> IdleWork {
    queue.perform(
      key: key, options: options, weight: weight, onEnd: onEnd.map { OnMain.closure($0) },
      OnMain.stepping(body))
  }

  /// Waits for a lull on the main actor. See ``IdleQueue/lull(options:isolation:file:line:)``.
  public func lull(
    options: IdleWork.Options = .init(), isolation: isolated (any Actor)? = #isolation,
    file: String = #fileID, line: UInt = #line
  ) async {
    await queue.lull(options: options, isolation: isolation, file: file, line: line)
  }

  /// The elements of a sequence, each in a lull.
  public func paced<Elements: Sequence>(
    _ elements: Elements, options: IdleWork.Options = .init(), file: String = #fileID,
    line: UInt = #line
  ) -> PacedSequence<Elements> {
    queue.paced(elements, options: options, file: file, line: line)
  }

  /// The elements of an asynchronous sequence, each in a lull after it has come.
  public func paced<Elements: AsyncSequence>(
    _ elements: Elements, options: IdleWork.Options = .init(), file: String = #fileID,
    line: UInt = #line
  ) -> PacedAsyncSequence<Elements> {
    queue.paced(elements, options: options, file: file, line: line)
  }

  /// Makes something in the concurrent pool and commits it on the main actor in idle time. See
  /// ``IdleQueue/offload(key:options:taskPriority:weight:onEnd:_:then:)``.
  @discardableResult
  public func offload<Value: Sendable>(
    key: some Hashable & Sendable, options: IdleWork.Options = .init(),
    taskPriority: TaskPriority? = nil, weight: Int = 1,
    onEnd: (@MainActor (IdleWork.End) -> Void)? = nil,
    _ make: @escaping @Sendable () async throws -> Value,
    then commit: @escaping @MainActor (Value) throws -> Void
  ) -> IdleWork {
    queue.offload(
      key: key, options: options, taskPriority: taskPriority, weight: weight,
      onEnd: onEnd.map { OnMain.closure($0) }, make, then: OnMain.committing(commit))
  }

  /// See ``IdleQueue/endShare()``.
  public func endShare() { queue.endShare() }

  /// See ``IdleQueue/cancel(key:)``.
  public func cancel(key: some Hashable & Sendable) { queue.cancel(key: key) }
}
