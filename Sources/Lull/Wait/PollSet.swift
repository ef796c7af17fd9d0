// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// Descriptors for poll(2): the kernel keeps nothing, and is told all of it at each wait.
final class PollSet: DescriptorSet {
  private var asked: [pollfd] = []
  private var tokens: [UInt64] = []
  private var places: [CInt: Int] = [:]
  private var timer: KernelTimer?

  init(eventfd: CInt) { insert(eventfd, CShort(POLLIN), OwnToken.wake) }

  var epoll: CInt { -1 }

  func probe(_ descriptor: CInt) throws(SystemError) { try PollSet.probe(descriptor) }

  /// The same from any thread.
  ///
  /// To poll(2) files and directories are always ready, which tells nothing: they are refused, as
  /// epoll does.
  static func probe(_ descriptor: CInt) throws(SystemError) {
    var status = stat()
    try checked("fstat") { unsafe fstat(descriptor, &status) }
    let kind = status.st_mode & S_IFMT
    if kind == S_IFREG || kind == S_IFDIR || kind == S_IFBLK {
      throw SystemError(code: EPERM, call: "poll")
    }
  }

  func insert(
    _ descriptor: CInt, for interest: Loop.Readiness, token: UInt64, isNew: Bool
  ) throws(SystemError) {
    try probe(descriptor)
    insert(descriptor, interest.pollBits, token)
  }

  private func insert(_ descriptor: CInt, _ events: CShort, _ token: UInt64) {
    let entry = pollfd(fd: descriptor, events: events, revents: 0)
    if let place = places[descriptor] {
      asked[place] = entry
      tokens[place] = token
    } else {
      places[descriptor] = asked.count
      asked.append(entry)
      tokens.append(token)
    }
  }

  func remove(_ descriptor: CInt) {
    guard let place = places.removeValue(forKey: descriptor) else { return }
    let (last, token) = (asked.removeLast(), tokens.removeLast())
    guard place < asked.count else { return }
    asked[place] = last
    tokens[place] = token
    places[last.fd] = place
  }

  /// The kernel keeps nothing here.
  func renew() {}

  func setTimer(_ deadline: Int64) throws(SystemError) {
    if timer == nil {
      let made = try KernelTimer(CLOCK_BOOTTIME)
      insert(made.number, CShort(POLLIN), OwnToken.clock)
      timer = made
    }
    try timer?.set(deadline)
  }

  func wait(nanoseconds: Int64?, into ready: inout [ReadyEvent]) -> Bool {
    let limit = nanoseconds.map { max($0, 0) } ?? -1
    let count = unsafe asked.withUnsafeMutableBufferPointer { entries in
      unsafe lull_poll_ns(entries.baseAddress, CInt(entries.count), limit)
    }
    if count == -EINTR { return false }
    guard count >= 0 else {
      // More descriptors than the limit, which was lowered since, or no memory to ask about them:
      // until that changes they are silent, and the loop goes on with the rest of its work.
      pause(nanoseconds: min(nanoseconds ?? .max, 1_000_000))
      return true
    }
    var left = count
    var place = 0
    while left > 0, place < asked.count {
      let entry = asked[place]
      place += 1
      guard entry.revents != 0 else { continue }
      left -= 1
      if entry.revents & CShort(POLLNVAL) != 0 {
        precondition(
          tokens[place - 1] < OwnToken.first,
          "the loop can wait no more, for its eventfd was closed: "
            + "close only descriptors that are yours")
        // Closed by its user, who has not said so yet: out of it, as it would be out of an epoll.
        remove(entry.fd)
        place -= 1
      } else if tokens[place - 1] < OwnToken.first {
        let readiness = Loop.Readiness(pollBits: entry.revents)
        ready.append(ReadyEvent(token: tokens[place - 1], readiness: readiness))
      } else {
        var count: UInt64 = 0
        unsafe read(entry.fd, &count, 8)  // Left readable, it would end every later wait.
      }
    }
    return true
  }
}

private func pause(nanoseconds: Int64) {
  var span = timespec(tv_sec: 0, tv_nsec: Int(nanoseconds))
  unsafe nanosleep(&span, nil)
}

extension Loop.Readiness {
  fileprivate var pollBits: CShort {
    CShort((contains(.readable) ? POLLIN : 0) | (contains(.writable) ? POLLOUT : 0))
  }

  fileprivate init(pollBits bits: CShort) {
    self.init(
      readable: bits & CShort(POLLIN) != 0, writable: bits & CShort(POLLOUT) != 0,
      hangUp: bits & CShort(POLLHUP) != 0, error: bits & CShort(POLLERR) != 0)
  }
}
