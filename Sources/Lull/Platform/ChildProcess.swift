// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// A child of this process, shared by all who wait for its end: the kernel tells that only once.
final class ChildProcess: @unchecked Sendable {  // `known` and `children` are guarded by `lock`
  let process: CInt
  let descriptor: CInt
  private var known: Loop.ProcessSource.End?

  private static let lock = Lock()
  nonisolated(unsafe) private static var children: [CInt: Entry] = [:]

  private struct Entry {
    weak var child: ChildProcess?
    /// Tells whose entry it is without a reference, which might be the last and end under `lock`.
    let id: ObjectIdentifier
  }

  /// The child with that number, dead or alive, that nobody has reaped.
  static func named(_ process: CInt) throws(Loop.ProcessError) -> ChildProcess {
    guard process > 0 else { throw .noSuchProcess(process) }
    // Kept until the lock is free: the last reference may not end under it.
    var known: ChildProcess?
    defer { extendLifetime(known) }
    return try lock.withLock { () throws(Loop.ProcessError) -> ChildProcess in
      known = unsafe children[process]?.child
      if let known, known.isUnreaped { return known }
      let child = try ChildProcess(process)
      unsafe children[process] = Entry(child: child, id: ObjectIdentifier(child))
      return child
    }
  }

  /// Whether the number is still that of this child: somebody else may have reaped it, and the
  /// number be another child's by now.
  private var isUnreaped: Bool {
    var (how, status): (CInt, CInt) = (0, 0)
    return unsafe lull_process_ended(descriptor, true, &how, &status) >= 0
  }

  private init(_ process: CInt) throws(Loop.ProcessError) {
    let descriptor = lull_process_open(process)
    if descriptor < 0 {
      let error = SystemError(code: -descriptor, call: "pidfd_open")
      switch error.code {
      case ESRCH, EINVAL, ENOENT: throw .noSuchProcess(process)
      case _ where error.kind == .exhausted: throw .exhausted(error)
      default: throw .failed(error)
      }
    }
    var (how, status): (CInt, CInt) = (0, 0)
    let code = unsafe lull_process_ended(descriptor, true, &how, &status)
    if code < 0 {
      close(descriptor)
      if code == -ECHILD { throw .notAChild(process) }
      throw .failed(SystemError(code: -code, call: "waitid"))
    }
    self.process = process
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
    Self.lock.withLock { forget() }
  }

  /// By now the number may be that of another child. With `lock` held.
  private func forget() {
    guard unsafe Self.children[process]?.id == ObjectIdentifier(self) else { return }
    unsafe Self.children[process] = nil
  }

  /// How it ended, reaped if it was not yet; nil while it lives.
  func end() -> Loop.ProcessSource.End? {
    Self.lock.withLock {
      if let known { return known }
      var (how, status): (CInt, CInt) = (0, 0)
      let code = unsafe lull_process_ended(descriptor, false, &how, &status)
      guard code != 0 else { return nil }
      known = code > 0 ? Loop.ProcessSource.End(how: how, status: status) : .unknown
      // From here on its number is free, and may come to another child at any moment.
      forget()
      return known
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
