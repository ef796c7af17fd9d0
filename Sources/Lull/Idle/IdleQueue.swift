// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A loop's idle work: pieces that run when the loop would otherwise sleep, and that delay no frame
/// and no event.
///
/// Before each piece the kernel is asked whether anything is ready, and the piece runs only if
/// what pieces of its key are known to take fits before the next timer and the next frame. While
/// work is left the loop wakes by itself; with nothing left it is silent. Pieces run in common
/// modes only, so a run in a custom mode is shielded from them.
///
/// ```swift
/// Loop.main.idle.forEach(records) { index, record in
///   table.append(record)
///   return .continue
/// }
/// ```
///
/// Keys share the time fairly. Before frames a key with longer pieces and more left to do may be a
/// quarter of a second ahead of another, so that short pieces fill what long ones leave of a gap.
/// A key's first piece, whose cost nobody knows, and one that is longer than any gap run right
/// after a frame. A piece that throws ends its item and nothing else, unless its options say so. A
/// nested run inside a piece gives no idle share.
///
/// > Threads: any, unless said otherwise. Pieces run on the loop's thread.
public struct IdleQueue: Sendable {
  @usableFromInline let loop: Loop

  init(loop: Loop) { self.loop = loop }

  /// When frames are due; nil to know none. On the loop's thread.
  public var frameClock: FrameClock? {
    get {
      loop.preconditionOnLoop()
      return loop.idleState.value.frameClock
    }
    nonmutating set {
      loop.preconditionOnLoop()
      loop.idleState.value.frameClock = newValue
    }
  }

  /// How many items may wait at a time; `Int.max` at first. Any thread.
  ///
  /// Items that other threads have queued and the loop has not seen yet may be more for a moment,
  /// where ``overflow`` is not ``Overflow/reject``.
  public var limit: Int {
    get { loop.idleCounts.limit.load(ordering: .relaxed) }
    nonmutating set { loop.idleCounts.limit.store(newValue, ordering: .relaxed) }
  }

  /// What becomes of an item that is one too many. An item that is dropped for another ends as
  /// ``IdleWork/End/dropped``, as one that is refused. Any thread.
  public var overflow: Overflow {
    get { Overflow(rawValue: loop.idleCounts.overflow.load(ordering: .relaxed))! }
    nonmutating set { loop.idleCounts.overflow.store(newValue.rawValue, ordering: .relaxed) }
  }

  /// What becomes of an item that is one too many.
  public enum Overflow: UInt8, Sendable, CaseIterable {
    /// It is dropped itself, on its caller's thread.
    case reject
    /// The item that was queued first, of those that have not begun, is dropped for it.
    case dropOldest
    /// The item that was queued last before it, of those that have not begun, is dropped for it.
    case dropNewest
    /// The item of its key that waits and has not begun is dropped for it; without one, it is
    /// dropped itself.
    case coalesce
  }

  /// How many items wait or run. Any thread.
  public var count: Int { loop.idleCounts.waiting.load(ordering: .relaxed) }

  /// What has been done so far, and why work waited. On the loop's thread.
  public var report: IdleReport {
    loop.preconditionOnLoop()
    var report = loop.idleState.value.tally.report
    report.drops += loop.idleCounts.refused.load(ordering: .relaxed)
    return report
  }

  /// Begins the report anew. On the loop's thread.
  public func resetReport() {
    loop.preconditionOnLoop()
    loop.idleState.value.tally = IdleTally()
    loop.idleCounts.refused.store(0, ordering: .relaxed)
  }

  // MARK: Queueing

  /// Walks a sequence in idle time, an element to a piece. Its costs are learned on their own, and
  /// it waits for no other work.
  ///
  /// - Parameters:
  ///   - elements: Iterated on the loop's thread, once. Elements are not copied ahead.
  ///   - options: How it is to be treated.
  ///   - weight: What an element weighs, in any unit such as bytes: costs are then learned per
  ///     unit.
  ///   - onEnd: Called once with the end, on the loop's thread (on the caller's if the queue is
  ///     full or the loop's thread has ended).
  ///   - body: Called with the index from zero and the element.
  @discardableResult
  @inlinable
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, options: IdleWork.Options = .init(),
    weight: (@Sendable (Elements.Element) -> Int)? = nil,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    walk(elements, key: nil, options, weight, onEnd, body)
  }

  /// Walks a sequence in idle time as work of `key`: costs are learned by key, and work of one key
  /// runs in the order it was queued. Otherwise as ``forEach(_:options:weight:onEnd:_:)``.
  @discardableResult
  @inlinable
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, key: some Hashable & Sendable,
    options: IdleWork.Options = .init(), weight: (@Sendable (Elements.Element) -> Int)? = nil,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    walk(elements, key: IdleKey(key), options, weight, onEnd, body)
  }

  @inlinable
  func walk<Elements: Sequence>(
    _ elements: sending Elements, key: IdleKey?, _ options: IdleWork.Options,
    _ weight: ((Elements.Element) -> Int)?, _ onEnd: ((IdleWork.End) -> Void)?,
    _ body: sending @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    let size = (elements as? any Collection)?.count
    // Nobody else reaches the walk, and a piece runs no other piece.
    let walk = SharedBox(Walk(elements, weight: weight, body))
    return queue(
      Traversal(
        loop, key: key, options, size: size, isWeighted: weight != nil, onEnd: onEnd,
        { walk.value.begin() }, { index, next in try walk.value.step(index, &next) }))
  }

  /// Hands an object to its key in idle time: one piece. ``IdleAnswer/stop`` drops the objects that
  /// were queued for the key when the piece began; what is queued later is not touched.
  ///
  /// - Parameters:
  ///   - object: Handed to `body` on the loop's thread.
  ///   - key: What costs are learned by; work of one key runs in the order it was queued.
  ///   - options: How it is to be treated.
  ///   - weight: What the object weighs, so that costs are learned per unit.
  ///   - onEnd: Called once with the end, as for a traversal.
  ///   - body: Called with the key and the object.
  @discardableResult
  @inlinable
  public func enqueue<Key: Hashable & Sendable, Object>(
    _ object: sending Object, key: Key, options: IdleWork.Options = .init(), weight: Int = 1,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping (Key, Object) throws -> IdleAnswer
  ) -> IdleWork {
    // Work of one key comes in a row, as a rule: then no table has to be asked.
    var latestKey: Key?
    latest.with { latestKey = cast($0, to: KeyedObject<Handing<Key, Object>>.self)?.ownKey }
    return queue(
      KeyedObject(Handing(object, body), loop, key, options, weight: weight, onEnd: onEnd),
      followsLatest: latestKey == key)
  }

  /// Runs `body` in idle time, a piece at a time, until it answers that all is done. What it has
  /// got to do may come and go: while it says that there is nothing, no time is spent on it.
  ///
  /// - Parameters:
  ///   - key: What costs are learned by; work of one key runs in the order it was queued.
  ///   - options: How it is to be treated.
  ///   - weight: What a piece weighs, so that costs are learned per unit.
  ///   - onEnd: Called once with the end, as for a traversal.
  ///   - body: Runs a piece.
  @discardableResult
  public func perform(
    key: some Hashable & Sendable, options: IdleWork.Options = .init(), weight: Int = 1,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping () throws -> IdleStep
  ) -> IdleWork {
    queue(Resumable(loop, IdleKey(key), options, weight: weight, onEnd: onEnd, body))
  }

  /// Cancels all work of `key` that is queued so far. Any thread.
  public func cancel(key: some Hashable & Sendable) { submit(.cancelKey(IdleKey(key))) }

  /// Ends the share of time that this pass gives: no other piece begins in it. For a piece that has
  /// asked for a frame, which ought to come next. On the loop's thread.
  public func endShare() {
    loop.preconditionOnLoop()
    loop.idleState.value.shareIsOver = true
  }

  /// What was queued last, if that waits still and this is the loop's thread.
  @usableFromInline
  var latest: Unretained<IdleWork> {
    loop.isCurrent ? loop.idleState.value.backlog.latest : Unretained(nil)
  }

  /// Queues work, which may be known to have the key of what was queued last.
  @usableFromInline
  func queue(_ work: consuming IdleWork, followsLatest: Bool = false) -> IdleWork {
    if takesIn(work), !loop.submit(work, followsLatest: followsLatest) { end(work, .dropped) }
    return work
  }

  /// Counts work in; false if it was refused.
  @inline(__always)
  func takesIn(_ work: IdleWork) -> Bool {
    let waiting = loop.idleCounts.waiting.wrappingAdd(1, ordering: .relaxed).newValue
    return waiting <= limit || overflow != .reject || !refuses(work)
  }

  private func refuses(_ work: IdleWork) -> Bool {
    loop.idleCounts.refused.wrappingAdd(1, ordering: .relaxed)
    end(work, .dropped)
    return true
  }

  // MARK: On the loop's thread

  @discardableResult
  func submit(_ request: IdleRequest) -> Bool { loop.submit(.idle(request)) }

  @inline(__always)
  func admit(_ work: IdleWork, followsLatest: Bool) {
    let isTooMany = count > limit
    if isTooMany, !makeRoom(for: work) { return }
    if loop.idleState.value.backlog.count == 0 {
      // What brought the work may well be followed by more.
      loop.idleState.value.admission.event(at: loop.poller.now)
    }
    loop.idleState.value.backlog.append(work, followsLatest: followsLatest && !isTooMany)
    loop.idleState.value.hasNews = true
  }

  /// Drops an item for another that is one too many; false if it was that one.
  private func makeRoom(for work: IdleWork) -> Bool {
    let dropped: IdleWork?
    switch overflow {
    case .reject: return true  // It was let in, by a limit that was higher then.
    case .dropOldest: dropped = loop.idleState.value.backlog.oldest
    case .dropNewest: dropped = loop.idleState.value.backlog.youngest
    case .coalesce:
      dropped = work.key.flatMap { key in
        loop.idleState.value.backlog.items(of: key).last { $0.isUntouched }
      }
    }
    loop.idleState.value.tally.drops += 1
    guard let dropped else {
      end(work, .dropped)
      return false
    }
    loop.idleState.value.backlog.remove(dropped)
    end(dropped, .dropped)
    return true
  }

  func handle(_ request: IdleRequest) {
    switch request {
    case .add(let work):
      if work.hasEnded { return }
      if work.isCancelled { return end(work, .cancelled) }
      admit(work, followsLatest: false)
    case .cancel(let work):
      // A piece that runs goes on to its end; the item ends after it.
      if loop.idleState.value.running.refers(to: work) { return }
      loop.idleState.value.backlog.remove(work)
      end(work, .cancelled)
    case .cancelKey(let key):
      for work in loop.idleState.value.backlog.items(of: key) { work.cancel() }
    case .fail(let work, let error):
      if !work.hasEnded { loop.idleState.value.tally.failures += 1 }
      end(work, work.isCancelled ? .cancelled : .failed(error))
    case .prioritize(let work, let priority):
      if !work.hasEnded { loop.idleState.value.backlog.set(priority, of: work) }
    }
  }

  func end(_ work: IdleWork, _ end: IdleWork.End, afterPiece: Bool = false) {
    guard !work.hasEnded else { return }
    loop.idleCounts.waiting.wrappingSubtract(1, ordering: .relaxed)
    work.finish(end, afterPiece: afterPiece)
  }

  /// The loop's thread ends.
  func die() {
    for work in loop.idleState.value.backlog.removeAll() { end(work, .dropped) }
    loop.idleState.value.frameClock = nil
  }
}

/// What a loop keeps for its idle work.
struct IdleState: ~Copyable {
  var backlog = Backlog()
  var admission = Admission()
  var frameClock: FrameClock?
  /// The last frame a host told of that was seen.
  var frameSeen: Int64?
  /// The item whose piece runs.
  var running = Unretained<IdleWork>(nil)
  /// A piece has asked for no other to begin in this pass.
  var shareIsOver = false
  /// Work has come that no share has looked at yet.
  var hasNews = false
  /// While the user drags or scrolls, throttled work waits until then.
  var throttledUntil = Int64.min
  var tally = IdleTally()
  /// While a function goes on in a lull, jobs of this loop's actors are kept to run in its piece.
  var collects = false
  var jobs: [(LoopExecutor, UnownedJob)] = []
}

/// What any thread may know of it.
final class IdleCounts: Sendable {
  let waiting = Atomic<Int>(0)
  let limit = Atomic<Int>(.max)
  let overflow = Atomic<UInt8>(IdleQueue.Overflow.reject.rawValue)
  let traversals = Atomic<Int>(0)
  /// Items that were one too many.
  let refused = Atomic<Int>(0)
}

/// What is asked of an idle queue.
enum IdleRequest: Sendable {
  case add(IdleWork)
  case cancel(IdleWork)
  case cancelKey(IdleKey)
  case fail(IdleWork, any Error)
  case prioritize(IdleWork, IdleWork.Priority)
}
