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
/// Keys share the time fairly. A key's first piece, whose cost nobody knows, and one that is
/// longer than any gap run right after a frame. A piece that throws ends its item and nothing
/// else. A nested run inside a piece gives no idle share.
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

  /// How many items may wait at a time; one more is dropped, and its end says so. `Int.max` at
  /// first.
  public var limit: Int {
    get { loop.idleCounts.limit.load(ordering: .relaxed) }
    nonmutating set { loop.idleCounts.limit.store(newValue, ordering: .relaxed) }
  }

  /// How many items wait or run.
  public var count: Int { loop.idleCounts.waiting.load(ordering: .relaxed) }

  // MARK: Queueing

  /// Walks a sequence in idle time, an element to a piece. Its costs are learned on their own, and
  /// it waits for no other work.
  ///
  /// - Parameters:
  ///   - elements: Iterated on the loop's thread, once. Elements are not copied ahead.
  ///   - priority: Which work goes first while it fits.
  ///   - maximumWait: After so long without a piece, one runs though events keep coming or it does
  ///     not fit; one such piece a pass.
  ///   - weight: What an element weighs, in any unit such as bytes: costs are then learned per
  ///     unit.
  ///   - onEnd: Called once with the end, on the loop's thread (on the caller's if the queue is
  ///     full or the loop's thread has ended).
  ///   - body: Called with the index from zero and the element.
  @discardableResult
  @inlinable
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, priority: IdleWork.Priority = .medium,
    maximumWait: Duration = .seconds(1), weight: (@Sendable (Elements.Element) -> Int)? = nil,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    walk(elements, key: nil, priority, maximumWait, weight, onEnd, body)
  }

  /// Walks a sequence in idle time as work of `key`: costs are learned by key, and work of one key
  /// runs in the order it was queued. Otherwise as
  /// ``forEach(_:priority:maximumWait:weight:onEnd:_:)``.
  @discardableResult
  @inlinable
  public func forEach<Elements: Sequence>(
    _ elements: sending Elements, key: some Hashable & Sendable,
    priority: IdleWork.Priority = .medium, maximumWait: Duration = .seconds(1),
    weight: (@Sendable (Elements.Element) -> Int)? = nil,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    walk(elements, key: IdleKey(key), priority, maximumWait, weight, onEnd, body)
  }

  @inlinable
  func walk<Elements: Sequence>(
    _ elements: sending Elements, key: IdleKey?, _ priority: IdleWork.Priority,
    _ maximumWait: Duration, _ weight: ((Elements.Element) -> Int)?,
    _ onEnd: ((IdleWork.End) -> Void)?,
    _ body: sending @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) -> IdleWork {
    let size = (elements as? any Collection)?.count
    // Nobody else reaches the walk, and a piece runs no other piece.
    let walk = SharedBox(Walk(elements, weight: weight, body))
    return queue(
      Traversal(
        loop, key: key, priority, maximumWait: maximumWait, size: size,
        isWeighted: weight != nil, onEnd: onEnd, { walk.value.begin() },
        { index, next in try walk.value.step(index, &next) }))
  }

  /// Hands an object to its key in idle time: one piece. ``IdleAnswer/stop`` drops the objects that
  /// were queued for the key when the piece began; what is queued later is not touched.
  ///
  /// - Parameters:
  ///   - object: Handed to `body` on the loop's thread.
  ///   - key: What costs are learned by; work of one key runs in the order it was queued.
  ///   - priority: Which work goes first while it fits.
  ///   - maximumWait: After so long, the piece runs though events keep coming or it does not fit.
  ///   - weight: What the object weighs, so that costs are learned per unit.
  ///   - onEnd: Called once with the end, as for a traversal.
  ///   - body: Called with the key and the object.
  @discardableResult
  @inlinable
  public func enqueue<Key: Hashable & Sendable, Object>(
    _ object: sending Object, key: Key, priority: IdleWork.Priority = .medium,
    maximumWait: Duration = .seconds(1), weight: Int = 1,
    onEnd: (@Sendable (IdleWork.End) -> Void)? = nil,
    _ body: sending @escaping (Key, Object) throws -> IdleAnswer
  ) -> IdleWork {
    // Work of one key comes in a row, as a rule: then no table has to be asked.
    let former = latest as? KeyedObject<Key, Object>
    return queue(
      KeyedObject(
        object, loop, key, priority, maximumWait: maximumWait, weight: weight, onEnd: onEnd, body),
      behind: former?.ownKey == key ? former : nil)
  }

  /// Cancels all work of `key` that is queued so far.
  public func cancel(key: some Hashable & Sendable) { submit(.cancelKey(IdleKey(key))) }

  /// What was queued last, if it waits still; nil on other threads.
  @usableFromInline
  var latest: IdleWork? { loop.isCurrent ? loop.idleState.value.backlog.latest : nil }

  /// Queues work; `former` is known to be of the same key.
  @usableFromInline
  func queue(_ work: IdleWork, behind former: IdleWork? = nil) -> IdleWork {
    if loop.idleCounts.waiting.wrappingAdd(1, ordering: .relaxed).newValue > limit
      || !loop.submit(work, behind: former)
    {
      loop.idleCounts.waiting.wrappingSubtract(1, ordering: .relaxed)
      work.finish(.dropped, afterPiece: false)
    }
    return work
  }

  // MARK: On the loop's thread

  @discardableResult
  func submit(_ request: IdleRequest) -> Bool { loop.submit(.idle(request)) }

  func admit(_ work: IdleWork, behind former: IdleWork?) {
    if work.isCancelled { return end(work, .cancelled) }
    if loop.idleState.value.backlog.count == 0 {
      // What brought the work may well be followed by more.
      loop.idleState.value.admission.event(at: loop.poller.now)
    }
    loop.idleState.value.backlog.append(work, behind: former)
    loop.idleState.value.hasNews = true
  }

  func handle(_ request: IdleRequest) {
    switch request {
    case .add(let work): admit(work, behind: nil)
    case .cancel(let work):
      // A piece that runs goes on to its end; the item ends after it.
      if loop.idleState.value.running.refers(to: work) { return }
      loop.idleState.value.backlog.remove(work)
      end(work, .cancelled)
    case .cancelKey(let key):
      for work in loop.idleState.value.backlog.items(of: key) { work.cancel() }
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
  /// Work has come that no share has looked at yet.
  var hasNews = false
}

/// What any thread may know of it.
final class IdleCounts: Sendable {
  let waiting = Atomic<Int>(0)
  let limit = Atomic<Int>(.max)
  let traversals = Atomic<Int>(0)
}

/// What is asked of an idle queue.
enum IdleRequest: Sendable {
  case add(IdleWork)
  case cancel(IdleWork)
  case cancelKey(IdleKey)
}
