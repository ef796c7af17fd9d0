// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull

/// Hosts that carry the runs of a loop: with one of them in LULL_GUEST, what the tests say of runs
/// is said of turns.
enum Carrier: String {
  case virtual, poll, lull

  /// Whether the loops of real threads are to be guests.
  static var isWanted: Bool { wanted == .poll || wanted == .lull }

  private static let wanted: Carrier? = unsafe getenv("LULL_GUEST").map { name in
    let name = unsafe String(cString: name)
    guard let carrier = Carrier(rawValue: name) else {
      preconditionFailure("LULL_GUEST is \(name); it may be virtual, poll or lull")
    }
    return carrier
  }

  static func make() -> any Loop.Host { wanted == .lull ? LullHost() : PollHost() }
}

/// A bare poll(2).
final class PollHost: Loop.Host {
  func wait(for loop: Loop) {
    guard let descriptor = try? loop.pollDescriptor else {
      sched_yield()  // No descriptor is left: turns have to be given as often as it goes.
      return
    }
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while unsafe poll(&wanted, 1, -1) < 0 {}
  }
}

/// Another loop of ours, on the same thread.
final class LullHost: Loop.Host {
  private let host = Loop.makeSecond()
  /// In a child made by fork there is another descriptor, perhaps under the same number.
  private var watched: (descriptor: CInt, process: CInt, source: Loop.DescriptorSource)?

  func wait(for loop: Loop) {
    guard let descriptor = try? loop.pollDescriptor, watch(descriptor) else {
      sched_yield()
      return
    }
    let result = host.run(in: .default, returnAfterSourceHandled: true)
    precondition(result == .handledSource, "the host came back for another reason: \(result)")
  }

  private func watch(_ descriptor: CInt) -> Bool {
    if let watched, watched.descriptor == descriptor, watched.process == getpid() { return true }
    watched?.source.invalidate()
    let source = Loop.DescriptorSource(descriptor, for: .readable) { _, _ in }
    guard (try? host.add(source)) != nil else { return false }
    watched = (descriptor, getpid(), source)
    return true
  }
}
