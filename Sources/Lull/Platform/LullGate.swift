// SPDX-License-Identifier: Apache-2.0

/// What a function passes through that waits for a lull: an executor whose only job is a piece of
/// idle work.
///
/// A continuation would not do. It resumes in the concurrent pool, and comes to its actor from
/// there; from an executor a function goes straight back to its actor's, while the piece runs.
final class LullGate: SerialExecutor, @unchecked Sendable {  // `state` guarded by `lock`
  private let queue: IdleQueue
  private let site: CallSite
  private let options: IdleWork.Options
  private let lock = Lock()
  private var work: LullPiece?
  private var isCancelled = false

  init(_ queue: IdleQueue, _ site: CallSite, _ options: IdleWork.Options) {
    self.queue = queue
    self.site = site
    self.options = options
  }

  /// Waits for a lull, or for the task to be cancelled. Comes back on the caller's actor.
  func pass(isolation: isolated (any Actor)?) async {
    let keeper = Keeper(self)
    await withTaskCancellationHandler {
      await keeper.pass()
    } onCancel: {
      cancel()
    }
  }

  /// Whose executor the gate is.
  private actor Keeper {
    private let gate: LullGate
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe UnownedSerialExecutor(ordinary: gate)
    }

    /// A function that touched nothing would be optimised away, and the way to its actor with it.
    private var passes = 0

    init(_ gate: LullGate) { self.gate = gate }

    @inline(never)
    func pass() { passes += 1 }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let work = LullPiece(queue.loop, site, options, UnownedJob(job), self)
    let isLate = lock.withLock {
      self.work = work
      return isCancelled
    }
    if isLate { work.cancel() }
    _ = queue.queue(work)
  }

  /// The function has gone on: nothing is left to cancel.
  fileprivate func passed() { lock.withLock { work = nil } }

  private func cancel() {
    let work = lock.withLock {
      isCancelled = true
      return self.work
    }
    work?.cancel()
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }
}

/// A function that waits for a lull.
final class LullPiece: IdleWork, @unchecked Sendable {  // touched on the loop's thread
  private let site: CallSite
  private var job: UnownedJob?
  private let gate: LullGate

  init(
    _ loop: Loop, _ site: CallSite, _ options: Options, _ job: UnownedJob, _ gate: LullGate
  ) {
    self.site = site
    self.job = job
    self.gate = gate
    super.init(loop, options, weight: 1, onEnd: nil)
  }

  override var key: IdleKey? { IdleKey(site) }
  override var keyName: String { "\(site)" }
  override var total: Int? { 1 }
  override var nextWeight: Int? { stage == .spent ? nil : 1 }

  override func step() -> IdleAnswer {
    stage = .spent
    loop.runJobs { passOn() }
    return .continue
  }

  override func free() { passOn() }

  private func passOn() {
    guard let job = job.take() else { return }
    gate.passed()
    unsafe job.runSynchronously(on: gate.asUnownedSerialExecutor())
  }
}
