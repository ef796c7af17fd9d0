// SPDX-License-Identifier: Apache-2.0

/// A result that is made elsewhere, and committed in one piece.
final class Offload<Value: Sendable>: IdleWork, @unchecked Sendable {  // see `lock`
  private let ownKey: IdleKey
  /// Touched on the loop's thread.
  private var commit: ((Value) throws -> Void)?
  /// Guards what follows.
  private let lock = Lock()
  private var result: Value?
  private var task: Task<Void, Never>?
  private var isFreed = false

  init(
    _ loop: Loop, _ key: IdleKey, _ options: Options, weight: Int, onEnd: ((End) -> Void)?,
    _ commit: @escaping (Value) throws -> Void
  ) {
    ownKey = key
    self.commit = commit
    super.init(loop, options, weight: weight, onEnd: onEnd)
  }

  /// Begins to make the result.
  func start(_ priority: TaskPriority?, _ make: @escaping @Sendable () async throws -> Value) {
    let task = Task.detached(priority: priority) {
      do { self.deliver(try await make()) } catch { self.loop.idle.fail(self, error) }
    }
    let isLate = lock.withLock {
      if !isFreed { self.task = task }
      return isFreed
    }
    if isLate { task.cancel() }
  }

  private func deliver(_ value: Value) {
    lock.withLock { if !isFreed { result = value } }
    // Nobody else has it yet: it waits from now on, and not from when its making began.
    waitsSince = loop.coarseNow
    loop.idle.made(self)
  }

  override var key: IdleKey? { ownKey }
  override var total: Int? { 1 }
  override var nextWeight: Int? { stage == .spent ? nil : Int(weight) }

  override func step() throws -> IdleAnswer {
    guard let value = lock.withLock({ result.take() }), let commit = commit.take() else {
      return .stop
    }
    stage = .spent
    try commit(value)
    return .continue
  }

  override func cancelledTooLate() { lock.withLock { task }?.cancel() }

  override func free() {
    let (task, value) = lock.withLock {
      isFreed = true
      return (self.task.take(), result.take())
    }
    task?.cancel()
    _ = value  // Let go outside the lock.
    commit = nil
  }
}
