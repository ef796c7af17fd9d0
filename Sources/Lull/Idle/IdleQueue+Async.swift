// SPDX-License-Identifier: Apache-2.0

/// Idle work for asynchronous code.
extension IdleQueue {
  // MARK: Between the pieces of a function

  /// Waits for a lull: what comes after it, up to the next suspension, is a piece of idle work.
  ///
  /// For code of an actor that lives on the loop: the main actor for the main loop, or one whose
  /// executor is ``Loop/executor``. A long function becomes idle work by a line between its pieces:
  ///
  /// ```swift
  /// Task { @MainActor in
  ///   for page in pages {
  ///     await Loop.main.idle.lull()
  ///     layOut(page)
  ///   }
  /// }
  /// ```
  ///
  /// What pieces cost is learned by the place of the call. In a cancelled task it returns at once.
  /// Code that lives elsewhere goes on when a lull comes, there and not in it.
  ///
  /// > Threads: any.
  public func lull(
    options: IdleWork.Options = .init(), isolation: isolated (any Actor)? = #isolation,
    file: String = #fileID, line: UInt = #line
  ) async {
    if Task.isCancelled { return }
    let gate = LullGate(self, CallSite(file: file, line: line), options)
    await gate.pass(isolation: isolation)
  }

  /// The elements of a sequence, each in a lull: the body of the loop is a piece of idle work.
  ///
  /// ```swift
  /// for await row in Loop.main.idle.paced(rows) { table.append(row) }
  /// ```
  public func paced<Elements: Sequence>(
    _ elements: Elements, options: IdleWork.Options = .init(), file: String = #fileID,
    line: UInt = #line
  ) -> PacedSequence<Elements> {
    PacedSequence(
      elements: elements, pace: Pace(queue: self, options: options, file: file, line: line))
  }

  /// The elements of an asynchronous sequence, each in a lull after it has come.
  public func paced<Elements: AsyncSequence>(
    _ elements: Elements, options: IdleWork.Options = .init(), file: String = #fileID,
    line: UInt = #line
  ) -> PacedAsyncSequence<Elements> {
    PacedAsyncSequence(
      elements: elements, pace: Pace(queue: self, options: options, file: file, line: line))
  }

  // MARK: Elsewhere and back

  /// Makes something in the concurrent pool and commits it on the loop's thread in idle time, in
  /// one piece. What is cancelled is never committed; the task that makes it is cancelled too.
  ///
  /// - Parameters:
  ///   - key: What the costs of commits are learned by.
  ///   - options: How the commit is to be treated.
  ///   - taskPriority: That of the task.
  ///   - weight: What the commit weighs, so that costs are learned per unit.
  ///   - onEnd: Called once with the end, as for a traversal. What `make` throws is the end too.
  ///   - make: Makes the result, in a task of its own.
  ///   - commit: Called with it.
  @discardableResult
  public func offload<Value: Sendable>(
    key: some Hashable & Sendable, options: IdleWork.Options = .init(),
    taskPriority: TaskPriority? = nil, weight: Int = 1,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ make: @escaping @Sendable () async throws -> Value,
    then commit: sending @escaping (Value) throws -> Void
  ) -> IdleWork {
    let work = Offload(loop, IdleKey(key), options, weight: weight, onEnd: onEnd, commit)
    if takesIn(work) { work.start(taskPriority, make) }
    return work
  }

  /// What was made elsewhere waits for its lull.
  func made(_ work: IdleWork) { if !submit(.add(work)) { endTooLate(work) } }

  func fail(_ work: IdleWork, _ error: any Error) {
    if !submit(.fail(work, error)) { endTooLate(work) }
  }

  /// The loop of what was being made has ended.
  private func endTooLate(_ work: IdleWork) { end(work, work.isCancelled ? .cancelled : .dropped) }
}

extension Loop {
  /// Lets a function of an actor of this loop go on, and runs the job that comes of it here. On the
  /// loop's thread.
  func runJobs(after resume: () -> Void) {
    idleState.value.collects = true
    resume()
    idleState.value.collects = false
    let jobs = idleState.value.jobs
    idleState.value.jobs = []
    for (executor, job) in jobs { executor.run(job) }
    guard let mode = state.value.mode, state.value.watchesMainQueue else { return }
    _ = drainMainQueue(in: mode)
  }

  /// Takes a job that a lull lets go on, and that is part of its piece.
  func keepsForLull(_ job: UnownedJob, of executor: LoopExecutor) -> Bool {
    if idleState.value.collects { idleState.value.jobs.append((executor, job)) }
    return idleState.value.collects
  }
}

/// Where a function waits: what its pieces cost is learned by that.
struct CallSite: Hashable, Sendable, CustomStringConvertible {
  let file: String
  let line: UInt
  var description: String { "\(file):\(line)" }
}

/// How a sequence is paced.
struct Pace: Sendable {
  let queue: IdleQueue
  let options: IdleWork.Options
  let file: String
  let line: UInt

  func lull(_ isolation: isolated (any Actor)?) async {
    await queue.lull(options: options, isolation: isolation, file: file, line: line)
  }
}

/// The elements of a sequence, each in a lull: what `paced(_:)` of a queue makes.
public struct PacedSequence<Elements: Sequence>: AsyncSequence {
  /// What it gives.
  public typealias Element = Elements.Element
  let elements: Elements
  let pace: Pace

  /// Begins at the first element.
  public func makeAsyncIterator() -> Iterator {
    Iterator(iterator: elements.makeIterator(), pace: pace)
  }

  /// Waits for a lull before each element.
  public struct Iterator: AsyncIteratorProtocol {
    var iterator: Elements.Iterator
    let pace: Pace

    /// The next element, in a lull; nil at the end.
    public mutating func next() async -> Element? { await next(isolation: nil) }

    /// The next element, in a lull of the caller's actor; nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      guard let element = iterator.next() else { return nil }
      await pace.lull(actor)
      return element
    }
  }
}

/// The elements of an asynchronous sequence, each in a lull.
public struct PacedAsyncSequence<Elements: AsyncSequence>: AsyncSequence {
  /// What it gives.
  public typealias Element = Elements.Element
  /// What it throws.
  public typealias Failure = Elements.Failure
  let elements: Elements
  let pace: Pace

  /// Begins at the first element.
  public func makeAsyncIterator() -> Iterator {
    Iterator(iterator: elements.makeAsyncIterator(), pace: pace)
  }

  /// Waits for each element, and then for a lull.
  public struct Iterator: AsyncIteratorProtocol {
    var iterator: Elements.AsyncIterator
    let pace: Pace

    /// The next element, in a lull; nil at the end.
    public mutating func next() async throws(Failure) -> Element? {
      try await next(isolation: nil)
    }

    /// The next element, in a lull of the caller's actor; nil at the end.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(Failure) -> Element? {
      guard let element = try await iterator.next(isolation: actor) else { return nil }
      await pace.lull(actor)
      return element
    }
  }
}
