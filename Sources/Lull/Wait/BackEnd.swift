// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The kernel's ways to wait. Taken in this order: the first that is to be had.
package enum BackEnd: String, CaseIterable, Sendable {
  /// One epoll, however many descriptors.
  case epoll
  /// `poll(2)`, where something forbids epoll. A wait costs the more the more is watched.
  case poll
  /// A futex, when no descriptor can be had: nothing can be watched, but the loop runs.
  case futex

  /// The one that `LULL_BACK_END` asks for; nil to take what is to be had.
  package static let forced: BackEnd? = {
    guard let name = unsafe getenv("LULL_BACK_END") else { return nil }
    let wish = unsafe String(cString: name)
    guard !wish.isEmpty else { return nil }
    guard let backEnd = BackEnd(rawValue: wish) else {
      let known = allCases.map(\.rawValue).joined(separator: ", ")
      // Said in an optimised program too: its user, not its author, has to read it.
      fatalError("LULL_BACK_END is \"\(wish)\"; what there is: \(known)")
    }
    return backEnd
  }()
}

extension BackEnd {
  /// A poller that waits so, whatever else is to be had.
  package func makePoller() -> any Poller { KernelPoller(self) }
}
