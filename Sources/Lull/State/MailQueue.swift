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
/// Two rings swap, so that neither side allocates in the long run, and the loop looks at one atomic
/// before it takes the lock.
final class MailQueue: @unchecked Sendable {  // `box` is guarded by `lock`
  struct Incoming: ~Copyable {
    var letters = Ring<Mail>()
    var isClosed = false
  }

  private let lock = Lock()
  private let box = Box(Incoming())
  /// Set by the first of a batch alone: the others find company.
  private let pending = Atomic<Bool>(false)

  enum Delivery { case first, company, closed }

  /// Any thread. After `first`, wake the loop if it sleeps; others need not.
  @inline(__always)
  func post(_ mail: consuming Mail) -> Delivery {
    lock.lock()
    defer { lock.unlock() }
    if box.value.isClosed { return .closed }
    let isFirst = box.value.letters.isEmpty
    box.value.letters.append(mail)
    // Under the lock, lest a second poster be back before the first has said so.
    if isFirst { pending.store(true, ordering: .sequentiallyConsistent) }
    return isFirst ? .first : .company
  }

  /// Whether there may be something. Never false with mail whose poster has returned.
  @inline(__always)
  var isPending: Bool { pending.load(ordering: .sequentiallyConsistent) }

  /// Exchanges all there is for the empty storage of `letters`.
  func take(into letters: inout Ring<Mail>) {
    lock.withLock {
      pending.store(false, ordering: .sequentiallyConsistent)
      swap(&box.value.letters, &letters)
    }
  }

  /// Nothing is taken from now on; what waited is handed out.
  func close() -> Ring<Mail> {
    var rest = Ring<Mail>()
    lock.withLock {
      box.value.isClosed = true
      swap(&box.value.letters, &rest)
    }
    return rest
  }
}

/// The batch of mail that a loop is reading. A letter may run the loop, which then reads on where
/// the reader outside is: things happen in the order they were asked for.
struct Inbox: ~Copyable {
  private var letters = Ring<Mail>()

  @inline(__always)
  var isEmpty: Bool { letters.isEmpty }

  @inline(__always)
  mutating func next() -> Mail { letters.removeFirst() }

  /// Begins the next batch.
  mutating func refill(from queue: MailQueue) {
    assert(letters.isEmpty, "a batch is read to its end before the next")
    queue.take(into: &letters)
  }
}
