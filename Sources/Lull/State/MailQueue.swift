// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What another thread asks of a loop.
enum Mail: @unchecked Sendable {  // handed over whole, under the queue's lock
  case perform(Block)
  case signal(Loop.Seat, UInt64)
  case add(Loop.Item, Loop.Mode)
  case addSource(Loop.Source, Loop.Mode)
  case remove(Loop.Item, Loop.Mode)
  case retire(Loop.Item)
  case retireSeat(Loop.Seat)
  case rearm(Loop.Timer)
  case interest(Loop.DescriptorSource)
  case addCommonMode(Loop.Mode)
  case idle(IdleRequest)
}

/// What other threads ask, in the order they asked.
///
/// Two arrays swap, so that neither side allocates in the long run, and the loop looks at one atomic
/// before it takes the lock.
final class MailQueue: @unchecked Sendable {  // arrays guarded by `lock`
  private let lock = Lock()
  private var incoming: [Mail] = []
  private var spare: [Mail] = []
  private var isClosed = false
  /// Set by the first of a batch alone: the others find company.
  private let pending = Atomic<Bool>(false)

  enum Delivery { case first, company, closed }

  /// Any thread. After `first`, wake the loop if it sleeps; others need not.
  func post(_ mail: Mail) -> Delivery {
    let delivery: Delivery = lock.withLock {
      if isClosed { return .closed }
      incoming.append(mail)
      return incoming.count == 1 ? .first : .company
    }
    if delivery == .first { pending.store(true, ordering: .sequentiallyConsistent) }
    return delivery
  }

  /// Whether there may be something. Never false with mail whose poster has returned.
  @inline(__always)
  var isPending: Bool { pending.load(ordering: .sequentiallyConsistent) }

  /// Takes all there is, in order.
  func take() -> [Mail] {
    pending.store(false, ordering: .sequentiallyConsistent)
    return lock.withLock {
      let taken = incoming
      incoming = spare
      spare = []
      return taken
    }
  }

  /// Gives the storage back.
  func recycle(_ storage: consuming [Mail]) {
    storage.removeAll(keepingCapacity: true)
    lock.withLock { spare = storage }
  }

  /// Nothing is taken from now on; what waited is handed out.
  func close() -> [Mail] {
    lock.withLock {
      isClosed = true
      let rest = incoming
      incoming = []
      return rest
    }
  }
}
