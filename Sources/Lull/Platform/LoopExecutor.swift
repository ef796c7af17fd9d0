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
    if isCurrent, keepsForLull(job) { return }
    perform(in: .common) { [self] in run(job) }
  }

  /// The executor to hand to an actor.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  /// Traps on another thread than the loop's.
  public func checkIsolated() { preconditionOnLoop() }

  /// Runs a job of one of its actors. On the loop's thread.
  func run(_ job: UnownedJob) { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
}
