// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// A system call that failed for a reason in the world, not in the program.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error number, as in `errno(3)`.
  public let code: CInt

  /// The system call that failed, such as `epoll_ctl`.
  public let call: String

  /// Makes an error from a number and the name of the call that gave it.
  public init(code: CInt, call: String) {
    self.code = code
    self.call = call
  }

  /// The call and the system's own words for its error.
  public var description: String {
    let words = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    return "\(call): \(words)"
  }
}

extension SystemError {
  enum Kind { case notPollable, notOpen, exhausted, other }

  /// What an error of watching a descriptor comes down to.
  var kind: Kind {
    switch code {
    case EPERM: .notPollable
    case EBADF: .notOpen
    case EMFILE, ENFILE, ENOMEM, ENOSPC: .exhausted
    default: .other
    }
  }
}

/// Makes a system call until it is not interrupted, and throws what it failed with.
@discardableResult
func checked(_ call: StaticString, _ body: () -> CInt) throws(SystemError) -> CInt {
  while true {
    let result = body()
    if result >= 0 { return result }
    let code = errno
    if code == EINTR { continue }
    throw SystemError(code: code, call: "\(call)")
  }
}

/// A descriptor with one owner, closed with it.
struct OwnedDescriptor: ~Copyable {
  let number: CInt

  init(_ call: StaticString, _ open: () -> CInt) throws(SystemError) {
    number = try checked(call, open)
  }

  deinit { close(number) }
}
