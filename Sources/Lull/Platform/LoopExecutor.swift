// SPDX-License-Identifier: Apache-2.0

/// A loop as the executor of actors: their code runs on its thread, in the common modes.
///
/// ```swift
/// actor Index {
///   let loop: Loop
///   nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///   init(on loop: Loop) { self.loop = loop }
/// }
/// ```
///
/// The actor keeps the loop, and its thread has to run it: jobs that come after that thread has
/// ended never run.
extension Loop: SerialExecutor {
  /// Runs a job on the loop's thread, in the next pass of a common mode. Any thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // One that a lull has let go on is part of that lull's piece.
    if isCurrent, idleState.value.collects { return idleState.value.jobs.append(job) }
    perform(in: .common) { [self] in unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  /// The executor to hand to an actor.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  /// Traps on another thread than the loop's.
  public func checkIsolated() { preconditionOnLoop() }

  /// Lets a function of an actor of this loop go on, and runs the job that comes of it here. On the
  /// loop's thread.
  func runJobs(after resume: () -> Void) {
    idleState.value.collects = true
    resume()
    idleState.value.collects = false
    let jobs = idleState.value.jobs
    idleState.value.jobs = []
    for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    if let mode = state.value.mode, state.value.watchesMainQueue { _ = drainMainQueue(in: mode) }
  }
}
