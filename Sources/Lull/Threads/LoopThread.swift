// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A thread whose loop runs until it is stopped.
///
/// The answer to a callback that never comes: a loop serves nothing unless its thread runs it, and
/// a thread that does is a dozen lines to get right. This one runs its ``loop`` in
/// ``Loop/Mode/default`` from the start, also while there is nothing in it.
///
/// ```swift
/// let worker = try LoopThread(name: "network")
/// worker.loop.schedule(every: .seconds(1)) { _ in print("on the worker") }
/// worker.loop.perform { print("there too") }
/// worker.stop()
/// worker.join()
/// ```
///
/// Letting go of the handle does not stop the thread: call ``stop()``. What waits in the loop when
/// the thread ends is not run: items leave it and stay valid (mailboxes are closed), the cancel
/// handlers of sources are called, blocks are freed. It begins with the signal mask of the thread
/// that started it. A child made by fork has no such thread.
///
/// > Threads: any.
public final class LoopThread: Sendable {
  /// The thread's loop. It outlives the thread as an object, and then takes nothing any more.
  public let loop: Loop

  /// What the kernel calls the thread, as `top -H` and debuggers show it.
  public let name: String

  private let thread: SystemThread
  private let isJoined = Atomic<Bool>(false)
  private let end = Latch()

  /// The smallest stack that may be asked for, in bytes.
  public static let leastStackSize = 128 * 1024

  /// Starts a thread, and returns when its loop exists.
  ///
  /// - Parameters:
  ///   - name: Cut to the 15 bytes that the kernel has room for, between characters.
  ///   - stackSize: In bytes; nil for the system's choice, `ulimit -s` as a rule. The system
  ///     reserves address space, not memory.
  /// - Throws: When the system has no room for one more thread or so large a stack; nothing is
  ///   started.
  /// - Precondition: `stackSize` is at least ``leastStackSize``.
  public init(name: String = "loop", stackSize: Int? = nil) throws(SystemError) {
    if let stackSize {
      precondition(
        stackSize >= LoopThread.leastStackSize,
        "a stack of \(stackSize) bytes is too small to run a loop; ask for LoopThread.leastStackSize or more, or for nil"
      )
    }
    self.name = SystemThread.name(cut: name)
    let birth = Birth()
    thread = try SystemThread(name: self.name, stackSize: stackSize) {
      let loop = Loop.current
      // Keeps the mode from being empty, so that a run ends by a stop alone.
      loop.add(Loop.Source { _ in }, to: .default)
      birth.loop = loop
      birth.latch.open()
      loop.run()
    }
    birth.latch.wait()
    loop = birth.loop!
  }

  deinit {
    // A joiner would have kept us alive, so nobody joins now.
    if !isJoined.load(ordering: .acquiring) { thread.detach() }
  }

  /// Ends the loop's run and all nested ones, however deep, after the callout that is running;
  /// later runs end as they begin. Returns at once: ``join()`` waits.
  ///
  /// ``Loop/stop()`` on the ``loop`` ends the innermost run only, so the thread goes on if that was
  /// a nested one, and ends if not. Stopping again changes nothing.
  ///
  /// > Threads: any, and signal handlers.
  public func stop() { loop.stopForGood() }

  /// Waits until the thread has ended and its loop's cancel handlers have run. It does not stop it.
  ///
  /// Any number of threads may wait, and one that comes later returns at once.
  ///
  /// > Threads: any but this one.
  ///
  /// - Precondition: not on the thread itself, which would wait for ever.
  public func join() {
    if end.isOpen { return }
    precondition(
      ThreadLoop.current !== loop,
      "a thread cannot wait for its own end: call stop() here and join() from another thread")
    if isJoined.exchange(true, ordering: .acquiringAndReleasing) { return end.wait() }
    thread.join()
    end.open()
  }

  /// How the new thread hands its loop over.
  private final class Birth: @unchecked Sendable {  // `loop` is written before `latch` opens
    var loop: Loop?
    let latch = Latch()
  }
}
