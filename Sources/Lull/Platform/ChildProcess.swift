// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// A share in a child of this process: all who wait for its end have one, since the kernel tells
/// that only once. The last to go closes the descriptor.
final class ChildProcess: Sendable {
  private let pidfd: Pidfd

  private static let lock = Lock()
  /// Those whose numbers are still theirs, as far as we know. Counted by hand: the last reference
  /// to an object with a deinit that takes the lock could end with the lock held.
  nonisolated(unsafe) private static var children: [CInt: Pidfd] = [:]

  /// The child with that number, dead or alive, that nobody has reaped.
  init(_ process: CInt) throws(Loop.ProcessError) {
    guard process > 0 else { throw .noSuchProcess(process) }
    pidfd = try Self.lock.withLock { () throws(Loop.ProcessError) -> Pidfd in
      // Somebody else may have reaped it, and the number be another child's by now.
      if let known = unsafe Self.children[process], known.isUnreaped {
        known.shares += 1
        return known
      }
      let made = try Pidfd(process)
      unsafe Self.children[process] = made
      return made
    }
  }

  deinit {
    Self.lock.withLock {
      pidfd.shares -= 1
      if pidfd.shares == 0 { Self.forget(pidfd) }
    }
  }

  /// By now the number may be that of another child. With `lock` held.
  private static func forget(_ pidfd: Pidfd) {
    if unsafe children[pidfd.process] === pidfd { unsafe children[pidfd.process] = nil }
  }

  /// Turns readable when the child has ended.
  var descriptor: CInt { pidfd.number }

  /// How it ended, reaped if it was not yet; nil while it lives.
  func end() -> Loop.ProcessSource.End? {
    Self.lock.withLock {
      if let known = pidfd.known { return known }
      var (how, status): (CInt, CInt) = (0, 0)
      let code = unsafe lull_process_ended(pidfd.number, false, &how, &status)
      guard code != 0 else { return nil }
      let end = code > 0 ? Loop.ProcessSource.End(how: how, status: status) : .unknown
      pidfd.known = end
      // From here on its number is free, and may come to another child at any moment.
      Self.forget(pidfd)
      return end
    }
  }

  /// What the shares are in.
  private final class Pidfd: @unchecked Sendable {  // variables guarded by `lock`
    let process: CInt
    let number: CInt
    var known: Loop.ProcessSource.End?
    var shares = 1

    init(_ process: CInt) throws(Loop.ProcessError) {
      let number = lull_process_open(process)
      if number < 0 {
        let error = SystemError(code: -number, call: "pidfd_open")
        switch error.code {
        case ESRCH, EINVAL, ENOENT: throw .noSuchProcess(process)
        case _ where error.kind == .exhausted: throw .exhausted(error)
        default: throw .failed(error)
        }
      }
      var (how, status): (CInt, CInt) = (0, 0)
      let code = unsafe lull_process_ended(number, true, &how, &status)
      if code < 0 {
        close(number)
        if code == -ECHILD { throw .notAChild(process) }
        throw .failed(SystemError(code: -code, call: "waitid"))
      }
      self.process = process
      self.number = number
    }

    deinit { close(number) }

    /// Whether the child is still ours to wait for.
    var isUnreaped: Bool {
      var (how, status): (CInt, CInt) = (0, 0)
      return unsafe lull_process_ended(number, true, &how, &status) >= 0
    }
  }
}

extension Loop.ProcessSource.End {
  fileprivate init(how: CInt, status: CInt) {
    switch how {
    case CInt(CLD_KILLED): self = .signalled(status, dumpedCore: false)
    case CInt(CLD_DUMPED): self = .signalled(status, dumpedCore: true)
    default: self = .exited(status)
    }
  }
}
