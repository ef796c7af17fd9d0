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
public class IdleWork: @unchecked Sendable {  // atomics; the rest belongs to the loop's thread
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

  // In this order an object of a key takes 104 bytes: one more, and it takes sixteen more.

  private let loop: Loop
  /// Where it waits; the queue keeps the lane. On the loop's thread, as all that is not atomic.
  final var lane = Unretained<Lane.Reference>(nil)
  /// What waits behind it, which the lane keeps.
  final var next = Unretained<IdleWork>(nil)
  /// When it was queued, or its last piece ended.
  final var waitsSince: Int64
  final let maximumWait: Int64
  /// What few items need.
  private let ending = LateReference<Ending>()
  /// What its pieces weigh, if all weigh the same.
  final let weight: Int32
  /// Its place when several items are queued; the highest goes first.
  public final let priority: Priority
  final var stage = Stage.new
  private let cancelled = Atomic<Bool>(false)
  private let outcome = Atomic<Outcome>(.none)

  /// Spent, it holds nothing any more.
  enum Stage: UInt8 { case new, begun, spent }

  /// Its end, and whether a piece ran, in a byte.
  enum Outcome: UInt8, AtomicRepresentable {
    case none, finished, stopped, cancelled, cancelledAfterPiece, failed, dropped
  }

  @usableFromInline
  init(
    _ loop: Loop, _ priority: Priority, maximumWait: Duration, weight: Int,
    onEnd: ((End) -> Void)?
  ) {
    self.loop = loop
    self.priority = priority
    self.maximumWait = maximumWait.wholeNanoseconds
    self.weight = Int32(clamping: weight)
    waitsSince = loop.coarseNow
    if let onEnd { ending.made(by: Ending.init).onEnd = onEnd }
  }

  // MARK: For everybody

  /// How it ended; nil while it has not.
  public final var end: End? {
    switch outcome.load(ordering: .acquiring) {
    case .none: nil
    case .finished: .finished
    case .stopped: .stopped
    case .cancelled, .cancelledAfterPiece: .cancelled
    case .failed: .failed(ending.value!.error!)
    case .dropped: .dropped
    }
  }

  /// How far it has come.
  public final var progress: Progress { Progress(done: done, total: total) }

  /// Ends it before its next piece; one that runs goes on to its end. What it holds is freed on the
  /// loop's thread: at once when called there. Once it has ended this changes nothing.
  public final func cancel() {
    guard !cancelled.exchange(true, ordering: .acquiringAndReleasing), !hasEnded else { return }
    loop.idle.submit(.cancel(self))
  }

  // MARK: What it does

  /// The key that it was queued for; nil for work that has none in common with other work.
  var key: IdleKey? { nil }
  /// Its key for people.
  var keyName: String { "\(key!)" }
  /// Pieces that ran. Any thread.
  var done: Int { 0 }
  /// Pieces in all. Any thread.
  var total: Int? { nil }
  /// Gets ready for the first piece, and is part of what that costs.
  func begin() {}
  /// Whether pieces weigh anything but one.
  var isWeighted: Bool { true }
  /// What the next piece weighs; nil when there is none.
  var nextWeight: Int? { nil }
  /// Runs the next piece; whether its key goes on.
  func step() throws -> IdleAnswer { .stop }
  /// Whether an answer of stop is meant for all that waits under the same key.
  var stopsItsKey: Bool { false }
  /// Frees what it holds.
  func free() {}

  // MARK: Its end

  /// When it has waited for as long as it may.
  final var overdueAt: Int64 { waitsSince.addingClamped(maximumWait) }

  final var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  final var isQueued: Bool { lane.isThere }

  final var hasEnded: Bool { outcome.load(ordering: .acquiring) != .none }

  /// Whether it has ended after a piece of it ran.
  final var endedAfterPiece: Bool {
    switch outcome.load(ordering: .acquiring) {
    case .none, .cancelled, .dropped: false
    case .finished, .stopped, .failed, .cancelledAfterPiece: true
    }
  }

  /// Ends it, unless it has ended; frees what it held, and tells whoever asked. On the loop's
  /// thread, or before it was ever queued.
  final func finish(_ end: End, afterPiece: Bool) {
    let outcome: Outcome
    switch end {
    case .finished: outcome = .finished
    case .stopped: outcome = .stopped
    case .cancelled: outcome = afterPiece ? .cancelledAfterPiece : .cancelled
    case .failed(let error):
      ending.made(by: Ending.init).error = error
      outcome = .failed
    case .dropped: outcome = .dropped
    }
    guard self.outcome.exchange(outcome, ordering: .sequentiallyConsistent) == .none else { return }
    if stage != .spent { free() }
    if let onEnd = ending.value?.onEnd.take() { onEnd(end) }
  }

  /// Written by who makes the work, and by who ends it before the end is known.
  private final class Ending: @unchecked Sendable {  // one thread at a time has the work
    var onEnd: ((End) -> Void)?
    var error: (any Error)?
  }
}

/// The key of idle work: what costs are learned by, and what runs in order.
@usableFromInline
struct IdleKey: Hashable, CustomStringConvertible, @unchecked Sendable {  // of a Sendable value only
  private let value: AnyHashable

  @usableFromInline
  init(_ value: some Hashable & Sendable) { self.value = AnyHashable(value) }

  @usableFromInline var description: String { "\(value)" }
}
