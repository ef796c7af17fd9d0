// SPDX-License-Identifier: Apache-2.0

extension Loop {
  /// Why a signal cannot be listened to.
  public enum SignalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `SIGKILL` and `SIGSTOP` are the kernel's own.
    case cannotBeCaught(CInt)

    /// A fault of the program itself, such as `SIGSEGV`: the instruction that did it would be tried
    /// again for ever, and no loop come to know of it.
    case programFault(CInt)

    /// No signal that a program may take has this number.
    case notASignal(CInt)

    /// The process has no descriptor left.
    case exhausted(SystemError)

    /// Anything else the kernel said.
    case failed(SystemError)

    /// What is wrong and what helps.
    public var description: String {
      switch self {
      case .cannotBeCaught(let signal): "no program can catch signal \(signal)"
      case .programFault(let signal):
        "signal \(signal) is a fault of the program itself, which must be handled where it happens: "
          + "use sigaction"
      case .notASignal(let signal): "there is no signal \(signal) for a program to take"
      case .exhausted(let error): "no room to listen to one more signal (\(error))"
      case .failed(let error): "the signal cannot be listened to (\(error))"
      }
    }
  }

  /// Calls its handler after a POSIX signal has come to the process, as an ordinary callout in
  /// which everything is allowed.
  ///
  /// ```swift
  /// let terminate = try Loop.SignalSource(SIGTERM) { _, _ in loop.stop() }
  /// try loop.add(terminate)
  /// ```
  ///
  /// The signal is taken from the making of the first source for it to the end of the last, when
  /// what the process did with it before is put back, unless somebody has called `sigaction`
  /// meanwhile. A source ends when it is invalidated or freed. **Until then nothing else becomes of
  /// the signal**: `SIGTERM` does not terminate, and an earlier handler is not called. Interrupted
  /// system calls are restarted where the kernel can. Programs that the process starts begin with
  /// the signal at its default.
  ///
  /// Several sources may listen to one signal, on any loops; each hears of all. Signals that come
  /// while no mode of a source runs are counted and delivered after. The kernel itself makes one of
  /// several equal signals that wait, so the count says how often the process was interrupted, and
  /// at least once. In a child made by fork a source goes on, with the child's own signals.
  ///
  /// It is a ``DescriptorSource`` on a descriptor of its own, which nobody else should read or
  /// close.
  ///
  /// > Threads: any. The handler runs on the loop's thread.
  public final class SignalSource: DescriptorSource, @unchecked Sendable {  // guarded as items are
    /// The signal's number.
    public let signal: CInt

    /// On the loop's thread, or with the source taken.
    private var tap: SignalTap?

    /// A source that listens to `signal` from now on, in whatever modes it will be.
    ///
    /// - Parameters:
    ///   - signal: A number such as `SIGTERM`.
    ///   - handler: Called with how many came since its last call, 1 or more.
    /// - Throws: ``SignalError`` when the signal cannot be taken or no descriptor is left.
    public init(
      _ signal: CInt, _ handler: @escaping @Sendable (SignalSource, Int) -> Void
    ) throws(SignalError) {
      let tap = try SignalTap(signal)
      self.signal = signal
      self.tap = tap
      super.init(tap.descriptor, for: .readable) { source, _ in
        (source as! SignalSource).deliver(to: handler)
      }
    }

    private func deliver(to handler: (SignalSource, Int) -> Void) {
      guard let count = tap?.take(), count > 0 else { return }
      handler(self, count)
    }

    override func release() {
      super.release()
      tap = nil
    }
  }
}
