// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a piece of idle work answers.
public enum IdleAnswer: Sendable, Hashable {
  /// Go on with the next element, or the next object of the key.
  case `continue`
  /// No more: ends the traversal, or drops what is queued for the key.
  case stop
}

/// A traversal, an object or other work in a loop's idle queue: what was queued, and how it goes.
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
    /// It did not run to its end: the queue was full, its key was stopped, or its loop ended.
    case dropped
  }

  // In this order an object of a key takes 104 bytes: one more, and it takes sixteen more.

  final let loop: Loop
  /// Where it waits; the queue keeps the lane. On the loop's thread, as all that is not atomic.
  final var lane: Place<Lane>?
  /// What waits behind it, which the lane keeps.
  final var next = Unretained<IdleWork>(nil)
  /// When it was queued, or its last piece ended.
  final var waitsSince: Int64
  final let maximumWait: Int64
  /// What few items need.
  private let details = LateReference<Details>()
  /// What its pieces weigh, if all weigh the same.
  final let weight: Int32
  /// Its priority, changed on the loop's thread only.
  private let urgency: Atomic<UInt8>
  final var stage = Stage.new
  private let outcome = Atomic<UInt8>(Outcome.none.rawValue)
  /// Two bits of each.
  private let policies: UInt8

  /// Spent, it holds nothing any more.
  enum Stage: UInt8 { case new, begun, spent }

  /// Its end, and whether a piece ran, in a byte.
  private enum Outcome: UInt8 {
    case none, cancelAsked, finished, stopped, cancelled, cancelledAfterPiece, failed, dropped
  }

  @usableFromInline
  init(_ loop: borrowing Loop, _ options: Options, weight: Int, onEnd: ((End) -> Void)?) {
    self.loop = copy loop
    maximumWait = options.maximumWait.wholeNanoseconds
    urgency = Atomic(options.priority.rawValue)
    policies = options.tracking.rawValue | options.errorReach.rawValue << 2
    self.weight = Int32(clamping: weight)
    waitsSince = loop.coarseNow
    if onEnd != nil || options.cost != nil {
      let details = details.made(by: Details.init)
      details.onEnd = onEnd
      details.cost = options.cost?.wholeNanoseconds
    }
  }

  // MARK: For everybody

  /// How it ended; nil while it has not.
  public final var end: End? {
    switch Outcome(rawValue: outcome.load(ordering: .sequentiallyConsistent))! {
    case .none, .cancelAsked: nil
    case .finished: .finished
    case .stopped: .stopped
    case .cancelled, .cancelledAfterPiece: .cancelled
    case .failed: .failed(details.value!.error!)
    case .dropped: .dropped
    }
  }

  /// Its end, waited for. Where the waiting task has a higher priority, the work gets that too;
  /// cancelling the task cancels the work.
  public final var value: End {
    get async {
      let priority = Priority(Task.currentPriority)
      if priority > self.priority { self.priority = priority }
      return await withTaskCancellationHandler {
        await withCheckedContinuation { wait($0) }
      } onCancel: {
        cancel()
      }
    }
  }

  /// Which work goes first while it fits; may be changed while it waits.
  public final var priority: Priority {
    get { Priority(rawValue: urgency.load(ordering: .relaxed))! }
    set { loop.idle.submit(.prioritize(self, newValue)) }
  }

  /// How far it has come.
  public final var progress: Progress { Progress(done: done, total: total, spent: spent) }

  /// Ends it before its next piece; one that runs goes on to its end. What it holds is freed on the
  /// loop's thread: at once when called there. Once it has ended this changes nothing.
  public final func cancel() {
    if outcome.compareExchange(
      expected: Outcome.none.rawValue, desired: Outcome.cancelAsked.rawValue,
      ordering: .acquiringAndReleasing
    ).exchanged {
      if !loop.idle.submit(.cancel(self)) { cancelledTooLate() }
    }
  }

  // MARK: What it does

  /// The key that it was queued for; nil for work that has none in common with other work.
  var key: IdleKey? { nil }
  /// Its key for people.
  var keyName: String { "\(key!)" }
  /// Pieces that ran. Any thread.
  var done: Int { endedAfterPiece ? 1 : 0 }
  /// Pieces in all. Any thread.
  var total: Int? { nil }
  /// Nanoseconds that its pieces took, where that is counted. Any thread.
  var spent: Int64 { 0 }
  /// A piece took so long.
  func took(_ time: Int64) {}
  /// Gets ready for the first piece, and is part of what that costs.
  func begin() {}
  /// Whether pieces weigh anything but one.
  var isWeighted: Bool { true }
  /// What the next piece weighs; nil when there is none.
  var nextWeight: Int? { nil }
  /// Before when there is nothing to do; what is past says that there is.
  var pausedUntil: Int64 { .min }
  /// Runs the next piece; whether its key goes on.
  func step() throws -> IdleAnswer { .stop }
  /// Whether an answer of stop is meant for all that waits under the same key.
  var stopsItsKey: Bool { false }
  /// Frees what it holds.
  func free() {}
  /// It was cancelled, and its loop has ended. Any thread.
  func cancelledTooLate() {}

  // MARK: How it is treated

  /// When it has waited for as long as it may.
  final var overdueAt: Int64 { waitsSince.addingClamped(maximumWait) }

  final var isQueued: Bool { lane != nil }

  /// Whether no piece of it has begun.
  final var isUntouched: Bool { stage == .new && !loop.idleState.value.running.refers(to: self) }

  final var tracking: Tracking { Tracking(rawValue: policies & 3)! }

  final var errorReach: ErrorReach { ErrorReach(rawValue: policies >> 2)! }

  /// What its pieces take at most, per unit of weight, as its maker says.
  final var declaredCost: Int64? { details.value?.cost }

  /// On the loop's thread; the lane is told by the caller.
  final func set(_ priority: Priority) { urgency.store(priority.rawValue, ordering: .relaxed) }

  // MARK: Its end

  final var isCancelled: Bool {
    outcome.load(ordering: .acquiring) == Outcome.cancelAsked.rawValue
  }

  final var hasEnded: Bool {
    outcome.load(ordering: .acquiring) > Outcome.cancelAsked.rawValue
  }

  /// Whether it has ended after a piece of it ran.
  private final var endedAfterPiece: Bool {
    switch Outcome(rawValue: outcome.load(ordering: .acquiring))! {
    case .none, .cancelAsked, .cancelled, .dropped: false
    case .finished, .stopped, .failed, .cancelledAfterPiece: true
    }
  }

  /// Ends it, unless it has ended; frees what it held, and tells whoever asked. On the loop's
  /// thread, or before it was ever queued.
  final func finish(_ end: End, afterPiece: Bool) {
    guard !hasEnded else { return }
    let outcome: Outcome
    switch end {
    case .finished: outcome = .finished
    case .stopped: outcome = .stopped
    case .cancelled: outcome = afterPiece ? .cancelledAfterPiece : .cancelled
    case .failed(let error):
      details.made(by: Details.init).error = error
      outcome = .failed
    case .dropped: outcome = .dropped
    }
    self.outcome.store(outcome.rawValue, ordering: .sequentiallyConsistent)
    if stage != .spent { free() }
    guard let details = details.value else { return }
    if let onEnd = details.onEnd.take() { onEnd(end) }
    details.tell(end)
  }

  private final func wait(_ continuation: CheckedContinuation<End, Never>) {
    let details = details.made(by: Details.init)
    details.add(continuation)
    // It may have ended before it could see that somebody waits.
    if let end { details.tell(end) }
  }

  private final class Details: @unchecked Sendable {  // `waiting` guarded by `lock`
    /// Written by who makes the work, taken by who ends it.
    var onEnd: ((End) -> Void)?
    var cost: Int64?
    /// Written before the end is known.
    var error: (any Error)?
    private let lock = Lock()
    private var waiting: [CheckedContinuation<End, Never>] = []

    func add(_ continuation: CheckedContinuation<End, Never>) {
      lock.withLock { waiting.append(continuation) }
    }

    func tell(_ end: End) {
      var told: [CheckedContinuation<End, Never>] = []
      lock.withLock { swap(&told, &waiting) }
      for continuation in told { continuation.resume(returning: end) }
    }
  }
}

extension IdleWork.Priority {
  init(_ priority: TaskPriority) {
    self = priority >= .userInitiated ? .high : priority >= .medium ? .medium : .low
  }
}

/// The key of idle work: what costs are learned by, and what runs in order.
@usableFromInline
struct IdleKey: Hashable, CustomStringConvertible, @unchecked Sendable {  // of a Sendable value
  private let value: AnyHashable

  @usableFromInline
  init(_ value: some Hashable & Sendable) { self.value = AnyHashable(value) }

  @usableFromInline var description: String { "\(value)" }
}
