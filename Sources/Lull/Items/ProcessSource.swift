// SPDX-License-Identifier: Apache-2.0

extension Loop {
  /// Why the end of a process cannot be waited for.
  public enum ProcessError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No process has this number; if one had, it has ended and been reaped.
    case noSuchProcess(CInt)

    /// It is not a child of this process, so how it ends is for its parent to know.
    case notAChild(CInt)

    /// The process has no descriptor left.
    case exhausted(SystemError)

    /// Anything else the kernel said; `ENOSYS` before Linux 5.4.
    case failed(SystemError)

    /// What is wrong and what helps.
    public var description: String {
      switch self {
      case .noSuchProcess(let process):
        "there is no process \(process), or it has been waited for already"
      case .notAChild(let process): "process \(process) is not a child of this one"
      case .exhausted(let error): "no room to wait for one more process (\(error))"
      case .failed(let error): "the process cannot be waited for (\(error))"
      }
    }
  }

  /// Calls its handler once, when a child process has ended, and reaps the child.
  ///
  /// ```swift
  /// let source = try Loop.ProcessSource(child) { _, end in
  ///   if end != .exited(0) { print("it failed: \(end)") }
  /// }
  /// try loop.add(source)
  /// ```
  ///
  /// The kernel wakes the loop for the very process, by a pidfd: nothing polls, and `SIGCHLD` is
  /// not touched. A child that has ended before the source was made is reported like any other, as
  /// long as nobody has reaped it. Several sources for one child, on any loops, share what the
  /// first learned and report the same end. The source is invalidated before its handler is called.
  ///
  /// Who starts a child must leave it to one waiter. If another part of the program waits for all
  /// children, or `SIGCHLD` is ignored, the end is reported all the same, but as ``End/unknown``. A
  /// source that is invalidated earlier does not reap: the child is the caller's again. In a child
  /// made by fork, sources report `unknown`, since the processes are the parent's.
  ///
  /// It is a ``DescriptorSource`` on a descriptor of its own, which nobody else should close.
  ///
  /// > Threads: any. The handler runs on the loop's thread.
  public final class ProcessSource: DescriptorSource, @unchecked Sendable {  // guarded as items are
    /// How a process ended.
    public enum End: Hashable, Sendable, CustomStringConvertible {
      /// It exited with this code, 0 to 255.
      case exited(CInt)
      /// A signal ended it, and whether it left a core dump.
      case signalled(CInt, dumpedCore: Bool)
      /// It has ended, and somebody else was told how.
      case unknown

      /// The end in words, for logs.
      public var description: String {
        switch self {
        case .exited(let code): "exited with \(code)"
        case .signalled(let signal, let dumpedCore):
          "ended by signal \(signal)" + (dumpedCore ? ", core dumped" : "")
        case .unknown: "ended, reaped by somebody else"
        }
      }
    }

    /// The process's number.
    public let process: CInt

    /// On the loop's thread, or with the source taken.
    private var child: ChildProcess?

    /// A source for the end of a child.
    ///
    /// - Parameters:
    ///   - process: The child's number, as `fork` and `posix_spawn` give it.
    ///   - handler: Called with how it ended.
    /// - Throws: ``ProcessError`` when there is no such process, when it is not a child of this
    ///   one, or when no descriptor is left.
    public init(
      _ process: CInt, _ handler: @escaping @Sendable (ProcessSource, End) -> Void
    ) throws(ProcessError) {
      let child = try ChildProcess(process)
      self.process = process
      self.child = child
      super.init(child.descriptor, for: .readable) { source, _ in
        (source as! ProcessSource).deliver(to: handler)
      }
    }

    private func deliver(to handler: (ProcessSource, End) -> Void) {
      guard let end = child?.end() else { return }
      // It stays readable: a nested run in the handler would be told again.
      invalidate()
      handler(self, end)
    }

    override func release() {
      super.release()
      child = nil
    }
  }
}
