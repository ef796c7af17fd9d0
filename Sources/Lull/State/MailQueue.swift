// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What another thread asks of a loop, blocks aside.
enum Mail: @unchecked Sendable {  // handed over whole, under the queue's lock
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

/// What waits to be read: blocks, which are many and small, and letters between them.
struct MailBag: ~Copyable {
  struct Letter {
    let mail: Mail
    /// How many blocks of this bag came before it.
    let blocksBefore: Int
  }

  var blocks = Ring<Block>()
  var letters = Ring<Letter>()
  /// How many blocks have gone in since it was empty, and how many have come out.
  var blocksIn = 0
  var blocksOut = 0

  @inline(__always)
  var isEmpty: Bool { blocks.isEmpty && letters.isEmpty }

  @inline(__always)
  mutating func append(_ block: consuming Block) {
    blocks.append(block)
    blocksIn += 1
  }

  mutating func append(_ mail: consuming Mail) {
    letters.append(Letter(mail: mail, blocksBefore: blocksIn))
  }
}

/// What other threads ask, in the order they asked.
///
/// Two bags swap, so that neither side allocates in the long run, and the loop looks at one atomic
/// before it takes the lock.
final class MailQueue: @unchecked Sendable {  // `box` is guarded by `lock`
  struct Incoming: ~Copyable {
    var isClosed = false
    var bag = MailBag()
  }

  /// Lies apart from what posters write, so that they keep their cache line while the loop looks
  /// whether there is anything.
  struct Flag: ~Copyable {
    private let before: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)
    let isSet = Atomic<Bool>(false)
    private let after: (Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  /// Set by the first of a batch alone: the others find company.
  private let pending = Box(Flag())
  private let lock = Lock()
  private let box = Box(Incoming())

  enum Delivery { case first, company, closed }

  /// Any thread. After `first`, wake the loop if it sleeps; others need not.
  @inline(__always)
  func post(_ block: consuming Block) -> Delivery {
    lock.lock()
    defer { lock.unlock() }
    if box.value.isClosed { return .closed }
    let isFirst = box.value.bag.isEmpty
    box.value.bag.append(block)
    return isFirst ? announced() : .company
  }

  /// The same for all that is no block.
  func post(_ mail: consuming Mail) -> Delivery {
    lock.lock()
    defer { lock.unlock() }
    if box.value.isClosed { return .closed }
    let isFirst = box.value.bag.isEmpty
    box.value.bag.append(mail)
    return isFirst ? announced() : .company
  }

  /// Under the lock, lest a second poster be back before the first has said so.
  private func announced() -> Delivery {
    pending.value.isSet.store(true, ordering: .sequentiallyConsistent)
    return .first
  }

  /// Whether there may be something. Never false with mail whose poster has returned.
  @inline(__always)
  var isPending: Bool { pending.value.isSet.load(ordering: .sequentiallyConsistent) }

  /// Exchanges all there is for an empty bag.
  func take(into bag: inout MailBag) {
    lock.lock()
    defer { lock.unlock() }
    pending.value.isSet.store(false, ordering: .sequentiallyConsistent)
    swap(&box.value.bag, &bag)
  }

  /// Nothing is taken from now on; what waited is handed out.
  func close() -> MailBag {
    var rest = MailBag()
    lock.lock()
    defer { lock.unlock() }
    box.value.isClosed = true
    swap(&box.value.bag, &rest)
    return rest
  }
}

/// The batch of mail that a loop is reading. A letter may run the loop, which then reads on where
/// the reader outside is: things happen in the order they were asked for.
struct Inbox: ~Copyable {
  private var bag = MailBag()

  @inline(__always)
  var isEmpty: Bool { bag.isEmpty }

  /// Begins the next batch.
  mutating func refill(from queue: MailQueue) {
    assert(bag.isEmpty, "a batch is read to its end before the next")
    (bag.blocksIn, bag.blocksOut) = (0, 0)
    queue.take(into: &bag)
  }

  /// Hands the blocks that come before the next letter to a queue.
  mutating func moveBlocks(to queue: inout BlockQueue) {
    let end = bag.letters.isEmpty ? bag.blocksIn : bag.letters[0].blocksBefore
    let count = end - bag.blocksOut
    bag.blocksOut = end
    if count > 0 { queue.append(contentsOf: &bag.blocks, count: count) }
  }

  /// The next letter; nil if there is none.
  mutating func nextLetter() -> Mail? {
    bag.letters.isEmpty ? nil : bag.letters.removeFirst().mail
  }
}
