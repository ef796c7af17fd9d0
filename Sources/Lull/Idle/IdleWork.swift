// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a piece of idle work answers.
public enum IdleAnswer: Sendable, Hashable {
  /// Go on with the next element, or the next object of the key.
  case `continue`
  /// No more: ends the traversal, or drops what is queued for the key.
  case stop
}

/// A traversal or an object in a loop's idle queue: what was queued, and how it goes.
///
/// Letting go of it changes nothing; the work goes on.
///
/// > Threads: any.
public final class IdleWork: @unchecked Sendable {  // `end` guarded by `lock`; payload on the loop
  /// How work ends. Each item ends once.
  public enum End: Sendable {
    /// It ran to its end.
    case finished
    /// A piece answered ``IdleAnswer/stop``.
    case stopped
    /// It was cancelled.
    case cancelled
    /// A piece threw.
    case failed(any Error)
    /// It never ran: the queue was full, its key was stopped, or its loop ended.
    case dropped
  }

  /// Which work goes first while it fits; the rest gets its turn by its maximum wait.
  public enum Priority: Int, Sendable, Comparable, CaseIterable {
    /// After everything else.
    case low
    /// The usual one.
    case medium
    /// Before everything else.
    case high

    /// Lower priorities come first.
    public static func < (left: Priority, right: Priority) -> Bool {
      left.rawValue < right.rawValue
    }
  }

  /// How far it has come.
  public struct Progress: Sendable, Hashable {
    /// Pieces that ran.
    public let done: Int
    /// Pieces in all, where that is known without running it.
    public let total: Int?
  }

  let key: IdleKey
  /// Its place when several items are queued; the highest goes first.
  public let priority: Priority
  let maximumWait: Int64
  /// When it was queued, or its last piece ended. On the loop's thread.
  var waitsSince: Int64
  /// What remains to do; freed with the end. On the loop's thread.
  var steps: (any IdleSteps)?
  var hasBegun = false
  /// In the backlog. On the loop's thread.
  var isQueued = false
  /// Its place among all that came for its key. On the loop's thread.
  var number: UInt64 = 0

  private let total: Int?
  private let done = Atomic<Int>(0)
  private let cancelled = Atomic<Bool>(false)
  private let queue: IdleQueue
  private let lock = Lock()
  private var ended: End?
  private var onEnd: ((End) -> Void)?

  init(
    _ key: IdleKey, _ priority: Priority, maximumWait: Int64, total: Int?, now: Int64,
    queue: IdleQueue, onEnd: ((End) -> Void)?, steps: any IdleSteps
  ) {
    self.key = key
    self.priority = priority
    self.maximumWait = maximumWait
    self.total = total
    waitsSince = now
    self.queue = queue
    self.onEnd = onEnd
    self.steps = steps
  }

  /// How it ended; nil while it has not.
  public var end: End? { lock.withLock { ended } }

  /// How far it has come.
  public var progress: Progress {
    Progress(done: done.load(ordering: .relaxed), total: total)
  }

  /// Ends it before its next piece; one that runs goes on to its end. What it holds is freed on the
  /// loop's thread: at once when called there. Once it has ended this changes nothing.
  public func cancel() {
    guard !cancelled.exchange(true, ordering: .acquiringAndReleasing), end == nil else { return }
    queue.submit(.cancel(self))
  }

  /// When it has waited for as long as it may.
  var overdueAt: Int64 { waitsSince.addingClamped(maximumWait) }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func pieceRan() { done.wrappingAdd(1, ordering: .relaxed) }

  /// Ends it, unless it has ended; tells whoever asked, and frees what it held. On the loop's
  /// thread, or before it was ever queued.
  func finish(_ end: End) {
    let told: ((End) -> Void)? = lock.withLock {
      guard ended == nil else { return nil }
      ended = end
      return onEnd.take() ?? { _ in }
    }
    guard let told else { return }
    steps = nil
    told(end)
  }
}

/// The key of idle work: what costs are learned by, and what runs in order.
struct IdleKey: Hashable, @unchecked Sendable {  // made of a Sendable value only
  private let value: AnyHashable

  init(_ value: some Hashable & Sendable) { self.value = AnyHashable(value) }

  var name: String { "\(value)" }
}

/// Work cut into pieces. On the loop's thread.
protocol IdleSteps: AnyObject {
  /// Gets ready for the first piece, and is part of what that costs.
  func begin()
  /// Whether pieces weigh anything but one.
  var isWeighted: Bool { get }
  /// What the next piece weighs; nil when there is none.
  var nextWeight: Int? { get }
  /// Runs the next piece; whether its key goes on.
  func step() throws -> IdleAnswer
}

/// The elements of a sequence, one to a piece. Index and element always agree, whatever the handler
/// does to what it walks: the sequence is iterated once and never indexed.
final class Traversal<Elements: Sequence>: IdleSteps {
  /// Until it begins: making an iterator may run any code, and that belongs to the loop's thread.
  private var elements: Elements?
  private var iterator: Elements.Iterator?
  private var next: Elements.Element?
  private var index = 0
  private let weight: ((Elements.Element) -> Int)?
  private let body: (Int, Elements.Element) throws -> IdleAnswer

  init(
    _ elements: Elements, weight: ((Elements.Element) -> Int)?,
    body: @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) {
    self.elements = elements
    self.weight = weight
    self.body = body
  }

  var isWeighted: Bool { weight != nil }

  func begin() {
    iterator = elements.take()?.makeIterator()
    next = iterator?.next()
  }

  var nextWeight: Int? { next.map { weight?($0) ?? 1 } }

  func step() throws -> IdleAnswer {
    guard let element = next else { return .stop }
    next = nil
    let answer = try body(index, element)
    index += 1
    if answer == .continue { next = iterator?.next() }
    return answer
  }
}

/// Steps whose "stop" is meant for all that waits under the same key.
protocol StopsItsKey {}

/// One object of a key: a single piece.
final class KeyedObject<Key, Object>: IdleSteps, StopsItsKey {
  private let key: Key
  private var object: Object?
  private let weight: Int
  private let body: (Key, Object) throws -> IdleAnswer

  init(
    _ key: Key, _ object: Object, weight: Int, body: @escaping (Key, Object) throws -> IdleAnswer
  ) {
    self.key = key
    self.object = object
    self.weight = weight
    self.body = body
  }

  var isWeighted: Bool { true }

  func begin() {}

  var nextWeight: Int? { object == nil ? nil : weight }

  func step() throws -> IdleAnswer {
    guard let object = object.take() else { return .stop }
    return try body(key, object)
  }
}
