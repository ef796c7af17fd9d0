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

  /// The oldest block, if it came into an empty bag: one alone takes no line of the cache but that
  /// of the bag itself from one processor to the other.
  private var first: Block?
  private var rest = Ring<Block>()
  /// How many blocks have come out.
  private var blocksOut = 0
  private var letters = Ring<Letter>()

  @inline(__always)
  var isEmpty: Bool { first == nil && rest.isEmpty && letters.isEmpty }

  @inline(__always)
  private var blockCount: Int { first == nil ? rest.count : rest.count + 1 }

  @inline(__always)
  mutating func append(_ block: consuming Block) {
    if first == nil, rest.isEmpty { return first = block }
    rest.append(block)
    rest.prefetch()
  }

  mutating func append(_ mail: consuming Mail) {
    letters.append(Letter(mail: mail, blocksBefore: blockCount))
  }

  /// What comes in from now on is counted from the first.
  mutating func beginAnew() { blocksOut = 0 }

  /// Hands the blocks that come before the next letter to a queue.
  mutating func moveBlocks(to queue: inout BlockQueue) {
    let end = letters.isEmpty ? blocksOut + blockCount : letters[0].blocksBefore
    var count = end - blocksOut
    blocksOut = end
    guard count > 0 else { return }
    if let block = first.take() {
      queue.append(block)
      count -= 1
    }
    queue.append(contentsOf: &rest, count: count)
  }

  /// The next letter; nil if there is none.
  mutating func nextLetter() -> Mail? { letters.isEmpty ? nil : letters.removeFirst().mail }
}

/// What other threads ask, in the order they asked.
///
/// Two bags swap, so that neither side allocates in the long run, and the loop looks at one atomic
/// before it takes the lock.
final class MailQueue: @unchecked Sendable {  // `incoming` is guarded by its lock
  /// What posters write: to post a block takes the first line of the cache that it lies in, and the
  /// one the block goes to.
  struct Incoming: ~Copyable {
    var isClosed = false
    /// Whether the loop has been told.
    var isAnnounced = false
    /// Not the first: a change of any part is to the thread sanitizer one of the first byte.
    let lock = Lock()
    var bag = MailBag()
  }

  private let box = Box(Incoming(), onLineOfItsOwn: true)
  private var incoming: Place<Incoming> { box.place }
  /// Set by the first of a batch alone: the others find company. Lies apart, so that posters keep
  /// their line while the loop looks whether there is anything.
  private let pending = Box(Atomic<Bool>(false), onLineOfItsOwn: true)

  enum Delivery { case first, company, closed }

  /// Any thread. After `first`, wake the loop if it sleeps; others need not.
  @inline(__always)
  func post(_ block: consuming Block) -> Delivery {
    incoming.value.lock.lock()
    defer { incoming.value.lock.unlock() }
    if incoming.value.isClosed { return .closed }
    incoming.value.bag.append(block)
    return announce()
  }

  /// The same for all that is no block.
  func post(_ mail: consuming Mail) -> Delivery {
    incoming.value.lock.lock()
    defer { incoming.value.lock.unlock() }
    if incoming.value.isClosed { return .closed }
    incoming.value.bag.append(mail)
    return announce()
  }

  /// Under the lock, lest a second poster be back before the first has said so.
  @inline(__always)
  private func announce() -> Delivery {
    if incoming.value.isAnnounced { return .company }
    incoming.value.isAnnounced = true
    pending.value.store(true, ordering: .sequentiallyConsistent)
    return .first
  }

  /// Whether there may be something. Never false with mail whose poster has returned.
  @inline(__always)
  var isPending: Bool { pending.value.load(ordering: .sequentiallyConsistent) }

  /// Exchanges all there is for an empty bag.
  func take(into bag: inout MailBag) {
    incoming.value.lock.lockGently()
    defer { incoming.value.lock.unlock() }
    pending.value.store(false, ordering: .sequentiallyConsistent)
    incoming.value.isAnnounced = false
    swap(&incoming.value.bag, &bag)
  }

  /// Nothing is taken from now on; what waited is handed out.
  func close() -> MailBag {
    var rest = MailBag()
    incoming.value.lock.lock()
    defer { incoming.value.lock.unlock() }
    incoming.value.isClosed = true
    swap(&incoming.value.bag, &rest)
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
    bag.beginAnew()
    queue.take(into: &bag)
  }

  /// Hands the blocks that come before the next letter to a queue.
  mutating func moveBlocks(to queue: inout BlockQueue) { bag.moveBlocks(to: &queue) }

  /// The next letter; nil if there is none.
  mutating func nextLetter() -> Mail? { bag.nextLetter() }
}
