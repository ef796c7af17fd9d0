// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// Why a value was not taken.
  public enum MailboxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// As many values wait as the mailbox may hold.
    case full
    /// The mailbox was invalidated, or the thread of its loop has ended.
    case closed

    /// What is wrong.
    public var description: String {
      switch self {
      case .full: "the mailbox is full"
      case .closed: "the mailbox is closed"
      }
    }
  }

  /// Hands values from any thread to a loop, in batches.
  ///
  /// The handler gets all that has come since it was last called, never an empty batch: one call
  /// and one wake-up for a burst of sends. Values of one sender stay in order. Made with a limit,
  /// it refuses what would exceed it, so that a slow loop slows its senders down or makes them
  /// drop.
  ///
  /// ```swift
  /// let lines = Loop.Mailbox<String> { _, lines in for line in lines { print(line) } }
  /// loop.add(lines)
  /// try lines.send("from any thread")
  /// ```
  ///
  /// It is a ``Source`` that signals itself, and is added, removed and invalidated like one; it
  /// waits with what it has while no mode of it runs. It belongs to the loop that it is first added
  /// to. In the long run it allocates nothing for values that do not themselves.
  ///
  /// > Threads: any. The handler runs on the loop's thread.
  public final class Mailbox<Value>: Source, @unchecked Sendable {  // see its fields
    /// How many values may wait for the handler; `Int.max` for no limit.
    public let limit: Int

    @usableFromInline let gate = MailboxGate()
    /// Behind the gate.
    @usableFromInline let waiting = SharedBox<[Value]>([])
    /// Empty; kept for its storage. Touched on the loop's thread only.
    @usableFromInline let spare = SharedBox<[Value]>([])

    /// A mailbox that calls `handler` with what was sent.
    ///
    /// - Parameters:
    ///   - limit: How many values may wait, at least 1.
    ///   - order: Its place among sources signalled in the same pass, lowest first.
    ///   - handler: Called with the values in the order they came.
    @inlinable
    public init(
      limit: Int = .max, order: Int = 0,
      _ handler: @escaping @Sendable (Mailbox<Value>, [Value]) -> Void
    ) {
      precondition(limit > 0, "a mailbox with a limit of \(limit) takes nothing; ask for 1 or more")
      self.limit = limit
      super.init(
        order: order, cancel: { source, loop, _ in MailboxGate.hasLeft(source, loop) },
        { source in (source as! Mailbox<Value>).deliver(to: handler) })
    }

    /// Leaves a value for the handler, and wakes the loop if it is the first of a batch.
    ///
    /// Any thread, not in signal handlers.
    ///
    /// - Throws: ``MailboxError/full`` and nothing that waits is lost; ``MailboxError/closed``. A
    ///   value that is not `Sendable` is given up with the attempt.
    /// - Complexity: amortised O(1), under a lock that is held for no user code.
    @inlinable
    public func send(_ value: sending Value) throws(MailboxError) {
      let signal = try gate.enter(self, limit: limit)
      waiting.value.append(value)
      gate.leave(self, with: signal)
    }

    /// How many values wait for the handler.
    package var count: Int { gate.count }

    @inlinable
    func deliver(to handler: (Mailbox<Value>, [Value]) -> Void) {
      var batch: [Value] = []
      swap(&batch, &spare.value)
      gate.beginEmptying()
      swap(&batch, &waiting.value)
      gate.endEmptying(self)
      guard !batch.isEmpty else { return }
      handler(self, batch)
      batch.removeAll(keepingCapacity: true)  // Outside the lock: values may do things as they go.
      if spare.value.capacity < batch.capacity { swap(&spare.value, &batch) }
    }

    override func joins(_ loop: Loop) { gate.joins(loop) }

    override func retire() {
      super.retire()
      var dropped: [Value] = []
      gate.beginEmptying()
      swap(&dropped, &waiting.value)
      gate.endEmptying(self)
      dropped.removeAll()  // Outside the lock, for the same reason.
    }
  }
}

/// What a mailbox is but its values, which a program that knows their type handles itself: who may
/// send, and who hears of it.
@usableFromInline
final class MailboxGate: @unchecked Sendable {  // `state` is guarded by `lock`
  private struct State: ~Copyable {
    var count = 0
    /// The loop it was first added to, and the same without counting.
    var loopKept: Loop?
    var loop = Unretained<Loop>(nil)
  }

  private let lock = Lock()
  private let state = Box(State())

  @usableFromInline
  init() {}

  /// Lets one value in, and keeps the gate until it ``leave(_:with:)``s. Returns the signal to
  /// announce then, if it is the first of a batch.
  @usableFromInline
  func enter(_ mailbox: Loop.Source, limit: Int) throws(Loop.MailboxError) -> UInt64? {
    lock.lock()
    let hasLoop = state.value.loop.with { !$0.hasEnded.load(ordering: .acquiring) } ?? true
    guard mailbox.isValid, hasLoop, state.value.count < limit else {
      lock.unlock()
      throw mailbox.isValid && hasLoop ? .full : .closed
    }
    state.value.count += 1
    // Noted behind the gate, so that a signal always stands for something that waits.
    return state.value.count == 1 ? mailbox.noteSignal() : nil
  }

  @usableFromInline
  func leave(_ mailbox: Loop.Source, with signal: UInt64?) {
    lock.unlock()
    if let signal { mailbox.announce(signal) }
  }

  var count: Int { lock.withLock { state.value.count } }

  /// Keeps the gate until all that waited has been taken.
  @usableFromInline
  func beginEmptying() { lock.lockGently() }

  @usableFromInline
  func endEmptying(_ mailbox: Loop.Source) {
    state.value.count = 0
    // Someone may have signalled again before all was taken, for what is taken now.
    mailbox.takeSignal()
    lock.unlock()
  }

  func joins(_ loop: Loop) {
    let isOurs = lock.withLock {
      if state.value.loopKept == nil {
        state.value.loopKept = loop
        state.value.loop = Unretained(loop)
      }
      return state.value.loop.refers(to: loop)
    }
    precondition(
      isOurs, "a mailbox belongs to the loop it was first added to; make one for each loop")
  }

  /// With the loop's thread ends what could be delivered.
  @usableFromInline
  static func hasLeft(_ mailbox: Loop.Source, _ loop: Loop) {
    if loop.hasEnded.load(ordering: .acquiring) { mailbox.invalidate() }
  }
}
