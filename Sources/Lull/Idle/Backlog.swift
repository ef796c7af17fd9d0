// SPDX-License-Identifier: Apache-2.0

/// The queued work of a loop, by key. Keys share the time fairly; what has one key runs in the order
/// it came.
struct Backlog: ~Copyable {
  /// The items of one key, what its pieces cost, and its place among the keys.
  final class Lane {
    let key: IdleKey
    var costs: CostModel
    /// Items that were taken out stay as holes until there are too many.
    private var items: [IdleWork] = []
    private var head = 0
    private(set) var count = 0
    /// The number of the item that came last.
    private(set) var newest: UInt64 = 0

    /// The priority of its first item; the highest goes first.
    fileprivate(set) var priority = IdleWork.Priority.medium
    /// How much time its pieces took; whoever took least goes first, equals by turns.
    fileprivate var used: Int64 = 0
    fileprivate var turn: UInt64 = 0

    fileprivate init(_ key: IdleKey, costs: CostModel) {
      self.key = key
      self.costs = costs
    }

    /// The item whose turn it is; nil once the last one has gone.
    var first: IdleWork? { head < items.count ? items[head] : nil }

    /// The items that wait, in order. O(n).
    var all: [IdleWork] { items[head...].filter(\.isQueued) }

    fileprivate func append(_ work: IdleWork) {
      newest += 1
      work.number = newest
      work.isQueued = true
      items.append(work)
      count += 1
    }

    fileprivate func remove(_ work: IdleWork) {
      work.isQueued = false
      count -= 1
      while head < items.count, !items[head].isQueued { head += 1 }
      if items.count > 2 * count + 16 {
        items = all
        head = 0
      }
    }

    fileprivate func precedes(_ other: Lane) -> Bool {
      if priority != other.priority { return priority > other.priority }
      return used != other.used ? used < other.used : turn < other.turn
    }
  }

  /// In the order of their next turns.
  private var lanes: [Lane] = []
  private var laneOf: [IdleKey: Lane] = [:]
  /// What was learned of keys that have nothing queued now, the latest last.
  private var learned: [(key: IdleKey, costs: CostModel)] = []
  private static let mostLearned = 64
  private var turns: UInt64 = 0
  /// No item has waited for as long as it may before this moment.
  private var firstOverdue = Int64.max

  private(set) var count = 0

  mutating func append(_ work: IdleWork) {
    count += 1
    firstOverdue = min(firstOverdue, work.overdueAt)
    if let lane = laneOf[work.key] { return lane.append(work) }
    var costs = CostModel()
    if let known = learned.firstIndex(where: { $0.key == work.key }) {
      costs = learned.remove(at: known).costs
    }
    let lane = Lane(work.key, costs: costs)
    lane.append(work)
    lane.priority = work.priority
    // A newcomer is not owed the time that others used before it came.
    lane.used = lanes.first { $0.priority == work.priority }?.used ?? 0
    laneOf[work.key] = lane
    insert(lane)
  }

  // MARK: Whose turn it is

  var laneCount: Int { lanes.count }

  /// The keys by priority and turn.
  func lane(_ place: Int) -> Lane { lanes[place] }

  /// The key whose first item has been overdue for longest, if any is. O(keys) when one may be.
  mutating func overdue(at now: Int64) -> Lane? {
    guard now >= firstOverdue else { return nil }
    let first = lanes.min { $0.first!.overdueAt < $1.first!.overdueAt }
    firstOverdue = first?.first?.overdueAt ?? .max
    return now >= firstOverdue ? first : nil
  }

  /// A key has had a turn that took so long.
  mutating func rotate(_ lane: Lane, after time: Int64) {
    guard let place = place(of: lane) else { return }
    lanes.remove(at: place)
    lane.used = lane.used.addingClamped(max(0, time))
    insert(lane)
  }

  /// Takes an item out; the last one of a key leaves what was learned behind.
  mutating func remove(_ work: IdleWork) {
    guard work.isQueued, let lane = laneOf[work.key], let place = place(of: lane) else { return }
    count -= 1
    lane.remove(work)
    guard let first = lane.first else {
      laneOf[work.key] = nil
      lanes.remove(at: place)
      learned.append((lane.key, lane.costs))
      if learned.count > Backlog.mostLearned { learned.removeFirst() }
      return
    }
    firstOverdue = min(firstOverdue, first.overdueAt)
    guard first.priority != lane.priority else { return }
    lanes.remove(at: place)
    lane.priority = first.priority
    insert(lane)
  }

  func items(of key: IdleKey) -> [IdleWork] { laneOf[key]?.all ?? [] }

  /// Everything, in no order, which leaves it empty.
  mutating func removeAll() -> [IdleWork] {
    let all = lanes.flatMap(\.all)
    for work in all { work.isQueued = false }
    lanes = []
    laneOf = [:]
    count = 0
    return all
  }

  // MARK: Keeping the order

  private mutating func insert(_ lane: Lane) {
    turns += 1
    lane.turn = turns
    lanes.insert(lane, at: lowerBound(lane))
  }

  private func place(of lane: Lane) -> Int? {
    let place = lowerBound(lane)
    return place < lanes.count && lanes[place] === lane ? place : nil
  }

  private func lowerBound(_ lane: Lane) -> Int {
    var (low, high) = (0, lanes.count)
    while low < high {
      let middle = (low + high) / 2
      if lanes[middle].precedes(lane) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
