// SPDX-License-Identifier: Apache-2.0

/// A loop as the executor of actors: their code runs on its thread, in the common modes.
///
/// ```swift
/// actor Index {
///   private let executor: LoopExecutor
///   nonisolated var unownedExecutor: UnownedSerialExecutor {
///     executor.asUnownedSerialExecutor()
///   }
///   init(on loop: Loop) { executor = loop.executor }
/// }
/// ```
///
/// The actor keeps it, and it keeps the loop, whose thread has to run it. A call that comes after
/// that thread has ended traps: dropped, it would leave its caller waiting for ever. Actors of one
/// loop share its thread and call each other without a hop.
///
/// > Threads: any.
public final class LoopExecutor: SerialExecutor {
  private let loop: Loop

  init(_ loop: Loop) { self.loop = loop }

  /// Runs a job on the loop's thread, in the next pass of a common mode.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // One that a lull has let go on is part of that lull's piece.
    if loop.isCurrent, loop.keepsForLull(job, of: self) { return }
    // Dropped, it would leave whoever awaits it waiting for ever.
    precondition(
      loop.submit(Block(.common) { [self] in run(job) }),
      "an actor was called whose loop's thread has ended; let go of actors before their threads")
  }

  /// Runs a job here. On the loop's thread.
  func run(_ job: UnownedJob) { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }

  /// The executor as actors name it; those of one loop are the same.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(complexEquality: self)
  }

  /// Whether another is of the same loop.
  public func isSameExclusiveExecutionContext(other: LoopExecutor) -> Bool { loop === other.loop }

  /// Traps on another thread than the loop's.
  public func checkIsolated() { loop.preconditionOnLoop() }
}

extension Loop {
  /// An executor for actors that are to live on this loop. Any thread.
  public var executor: LoopExecutor { LoopExecutor(self) }
}
