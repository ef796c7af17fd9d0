// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// A descriptor that counts a signal, from making to freeing.
final class SignalTap: Sendable {
  let signal: CInt
  let descriptor: CInt

  init(_ signal: CInt) throws(Loop.SignalError) {
    switch signal {
    case SIGKILL, SIGSTOP: throw .cannotBeCaught(signal)
    case SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT: throw .programFault(signal)
    default: break
    }
    let result = lull_signal_open(signal)
    guard result < 0 else {
      self.signal = signal
      descriptor = result
      return
    }
    if result == -EINVAL { throw .notASignal(signal) }
    let error = SystemError(code: -result, call: "sigaction")
    throw error.kind == .exhausted
      ? .exhausted(SystemError(code: -result, call: "eventfd")) : .failed(error)
  }

  deinit { lull_signal_close(signal, descriptor) }

  /// How many signals came since the last time; 0 if none did.
  func take() -> Int {
    var count: UInt64 = 0
    guard unsafe read(descriptor, &count, 8) == 8 else { return 0 }
    return Int(clamping: count)
  }
}
