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
  public final class Mailbox<Value>: Source, @unchecked Sendable {  // `box` is guarded
    /// How many values may wait for the handler; `Int.max` for no limit.
    public let limit: Int

    private let guardian = Lock()
    private let box = Box(MailboxState<Value>())

    /// A mailbox that calls `handler` with what was sent.
    ///
    /// - Parameters:
    ///   - limit: How many values may wait, at least 1.
    ///   - order: Its place among sources signalled in the same pass, lowest first.
    ///   - handler: Called with the values in the order they came.
    public init(
      limit: Int = .max, order: Int = 0,
      _ handler: @escaping @Sendable (Mailbox<Value>, [Value]) -> Void
    ) {
      precondition(limit > 0, "a mailbox with a limit of \(limit) takes nothing; ask for 1 or more")
      self.limit = limit
      super.init(
        order: order,
        cancel: { source, loop, _ in
          if loop.hasEnded.load(ordering: .acquiring) { source.invalidate() }
        },
        { source in (source as! Mailbox<Value>).deliver(to: handler) })
    }

    /// Leaves a value for the handler, and wakes the loop if it is the first of a batch.
    ///
    /// Any thread, not in signal handlers.
    ///
    /// - Throws: ``MailboxError/full`` and nothing that waits is lost; ``MailboxError/closed``. A
    ///   value that is not `Sendable` is given up with the attempt.
    /// - Complexity: amortised O(1), under a lock that is held for no user code.
    public func send(_ value: sending Value) throws(MailboxError) {
      guardian.lock()
      var first: UInt64?
      do {
        defer { guardian.unlock() }
        let hasLoop = box.value.loop.with { !$0.hasEnded.load(ordering: .acquiring) } ?? true
        guard isValid, hasLoop else { throw .closed }
        guard box.value.waiting.count < limit else { throw .full }
        box.value.waiting.append(value)
        // Noted under the lock, so that a signal always stands for something that waits.
        if box.value.waiting.count == 1 { first = noteSignal() }
      }
      if let first { announce(first) }
    }

    /// How many values wait for the handler.
    package var count: Int { guardian.withLock { box.value.waiting.count } }

    private func deliver(to handler: (Mailbox<Value>, [Value]) -> Void) {
      var batch: [Value] = []
      guardian.withLock {
        swap(&batch, &box.value.spare)
        swap(&batch, &box.value.waiting)
        // Someone may have signalled again before the swap, for what we have got now.
        takeSignal()
      }
      guard !batch.isEmpty else { return }
      handler(self, batch)
      batch.removeAll(keepingCapacity: true)  // Outside the lock: values may do things as they go.
      guardian.withLock {
        if box.value.spare.capacity < batch.capacity { swap(&box.value.spare, &batch) }
      }
    }

    override func joins(_ loop: Loop) {
      let isOurs = guardian.withLock {
        if box.value.loopKept == nil {
          box.value.loopKept = loop
          box.value.loop = Unretained(loop)
        }
        return box.value.loop.refers(to: loop)
      }
      precondition(
        isOurs, "a mailbox belongs to the loop it was first added to; make one for each loop")
    }

    override func retire() {
      super.retire()
      var dropped: [[Value]] = [[], []]
      guardian.withLock {
        swap(&dropped[0], &box.value.waiting)
        swap(&dropped[1], &box.value.spare)
      }
      dropped.removeAll()  // Outside the lock, for the same reason.
    }
  }
}

/// What a mailbox holds, under its lock.
struct MailboxState<Value>: ~Copyable {
  var waiting: [Value] = []
  /// Empty; kept for its storage.
  var spare: [Value] = []
  /// The loop it was first added to, and the same without counting.
  var loopKept: Loop?
  var loop = Unretained<Loop>(nil)
}
