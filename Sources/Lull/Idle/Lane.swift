// SPDX-License-Identifier: Apache-2.0

/// The items of one key in the order they came, what its pieces cost, and its place among the keys.
///
/// The items are linked to each other. One that was taken out stays as a hole until its turn comes,
/// or until there are too many holes.
struct Lane: ~Copyable {
  typealias Reference = SharedBox<Lane>

  /// Nil for a traversal that has none.
  let key: IdleKey?
  var costs: CostModel
  private var head = Unretained<IdleWork>(nil)
  private var tail = Unretained<IdleWork>(nil)
  /// Items that wait.
  private(set) var count = 0
  private var holes = 0
  /// While a piece runs, what stood last when it began stays where it is.
  private var boundary = Unretained<IdleWork>(nil)

  /// How many items wait with each priority.
  private var counts: (low: Int, medium: Int, high: Int) = (0, 0, 0)
  /// By how many priorities its first item has gone up while it waited.
  var aged: UInt8 = 0
  /// What it goes by among the lanes, as last sorted; the highest goes first.
  var priority = IdleWork.Priority.medium
  /// The longest piece.
  var longest: Int64 = 0
  /// How much time its pieces took; whoever took least goes first, equals by turns.
  var used: Int64 = 0
  var turn: UInt64 = 0

  init(_ key: IdleKey?, costs: CostModel) {
    self.key = key
    self.costs = costs
  }

  deinit {
    var link = head
    while let work = link.value {
      work.lane = nil
      link.release()
      link = work.next
    }
  }

  /// The item whose turn it is; nil once the last one has gone.
  var first: IdleWork? { head.value }

  /// The same without counting a reference. While a piece of it runs it stays.
  var front: Unretained<IdleWork> { head }

  /// Whether a piece of the first item runs.
  var isRunning: Bool { boundary.isThere }

  /// The first of which no piece has begun. O(n).
  var firstUntouched: IdleWork? {
    var link = head
    while let work = link.value, !work.isQueued || !work.isUntouched { link = work.next }
    return link.value
  }

  /// The one that came last, be it a hole.
  var last: Unretained<IdleWork> { tail }

  /// The items that wait, in order. O(n).
  var all: [IdleWork] { waiting(through: nil) }

  /// The caller tells the work where it is.
  @inline(__always)
  mutating func append(_ work: IdleWork) {
    let link = Unretained(work)
    link.retain()
    if tail.isThere { tail.with { $0.next = link } } else { head = link }
    tail = link
    count += 1
    change(work.priority, by: 1)
  }

  mutating func remove(_ work: IdleWork) {
    work.lane = nil
    count -= 1
    holes += 1
    change(work.priority, by: -1)
    guard !boundary.isThere else { return }
    tidy()
  }

  @inline(__always)
  func precedes(_ other: borrowing Lane) -> Bool {
    if priority != other.priority { return priority > other.priority }
    return used != other.used ? used < other.used : turn < other.turn
  }

  // MARK: Its priority

  /// An item that waits gets another priority.
  mutating func set(_ priority: IdleWork.Priority, of work: IdleWork) {
    change(work.priority, by: -1)
    work.set(priority)
    change(priority, by: 1)
  }

  private mutating func change(_ priority: IdleWork.Priority, by number: Int) {
    switch priority {
    case .low: counts.low += number
    case .medium: counts.medium += number
    case .high: counts.high += number
    }
  }

  /// The highest of its items', since they run in order, and higher by age.
  var nextPriority: IdleWork.Priority {
    let highest: IdleWork.Priority = counts.high > 0 ? .high : counts.medium > 0 ? .medium : .low
    return IdleWork.Priority(rawValue: min(2, highest.rawValue + aged))!
  }

  // MARK: Around a piece

  /// A piece of the first item begins.
  mutating func pieceBegins() { boundary = tail }

  /// It ended. The items that had been there when it began are asked for before.
  mutating func pieceEnded() {
    boundary = Unretained(nil)
    if holes > 0 { tidy() }
  }

  /// The items that wait and were there when the piece began. O(n).
  var knownToPiece: [IdleWork] { waiting(through: boundary.value) }

  private func waiting(through last: IdleWork?) -> [IdleWork] {
    var all: [IdleWork] = []
    var link = head
    while let work = link.value {
      if work.isQueued { all.append(work) }
      if work === last { break }
      link = work.next
    }
    return all
  }

  // MARK: Holes

  /// Lets the holes before the first item go, and all when they are the most.
  private mutating func tidy() {
    while head.with(\.isQueued) == false { unlinkFirst() }
    if holes > 2 * count + 16 { closeHoles() }
  }

  /// Lets go of the first link, a hole.
  private mutating func unlinkFirst() {
    let link = head
    holes -= 1
    head = link.with { $0.next } ?? Unretained(nil)
    link.with { $0.next = Unretained(nil) }
    if !head.isThere { tail = head }
    link.release()
  }

  private mutating func closeHoles() {
    // The first item is none.
    var link = head
    while let work = link.value {
      while let hole = work.next.value, !hole.isQueued {
        let gone = work.next
        if tail.refers(to: hole) { tail = link }
        work.next = hole.next
        hole.next = Unretained(nil)
        gone.release()
      }
      link = work.next
    }
    holes = 0
  }
}
