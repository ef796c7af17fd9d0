// SPDX-License-Identifier: Apache-2.0

/// The queued work of a loop, by key. Keys share the time fairly; what has one key runs in the
/// order it came.
struct Backlog: ~Copyable {
  /// In the order of their next turns.
  private var lanes: [Lane.Reference] = []
  private var laneOf: [IdleKey: Lane.Reference] = [:]
  /// The one that work came for last.
  private var newest: Lane.Reference?
  /// What was learned of keys that have nothing queued now, the latest last.
  private var learned: [(key: IdleKey, costs: CostModel)] = []
  private static let mostLearned = 64
  private var turns: UInt64 = 0
  /// No item has waited for as long as it may before this moment.
  private var firstOverdue = Int64.max

  private(set) var count = 0

  /// What was queued last, if it waits still.
  var latest: IdleWork? {
    guard let last = newest?.value.last, last.isQueued else { return nil }
    return last
  }

  /// Queues work, in the lane of `former`, the latest, if that is of the same key.
  mutating func append(_ work: IdleWork, behind former: IdleWork?) {
    count += 1
    firstOverdue = min(firstOverdue, work.overdueAt)
    if let former, former.lane.isThere {
      former.lane.with { $0.value.append(work) }
      work.lane = former.lane
    } else {
      let lane = lane(for: work)
      newest = lane
      lane.value.append(work)
      work.lane = Unretained(lane)
    }
  }

  /// The lane of a key, made for `work` if there is none.
  private mutating func lane(for work: IdleWork) -> Lane.Reference {
    let key = work.key
    if let key, let lane = laneOf[key] { return lane }
    let lane = Lane.Reference(Lane(key, costs: takeLearned(key)))
    lane.value.priority = work.priority
    // A newcomer is not owed the time that others used before it came.
    let peer = lanes.first { $0.value.priority == work.priority }
    lane.value.used = peer?.value.used ?? 0
    if let key { laneOf[key] = lane }
    insert(lane)
    return lane
  }

  private mutating func takeLearned(_ key: IdleKey?) -> CostModel {
    guard let key, let known = learned.firstIndex(where: { $0.key == key }) else {
      return CostModel()
    }
    return learned.remove(at: known).costs
  }

  // MARK: Whose turn it is

  var laneCount: Int { lanes.count }

  /// The keys by priority and turn.
  func lane(_ place: Int) -> Lane.Reference { lanes[place] }

  /// The key whose first item has been overdue for longest, if any is. O(keys) when one may be.
  mutating func overdue(at now: Int64) -> Lane.Reference? {
    guard now >= firstOverdue else { return nil }
    let first = lanes.min { $0.value.first!.overdueAt < $1.value.first!.overdueAt }
    firstOverdue = first?.value.first?.overdueAt ?? .max
    return now >= firstOverdue ? first : nil
  }

  /// A key has had a turn that took so long.
  mutating func rotate(_ lane: Lane.Reference, after time: Int64) {
    let used = lane.value.used.addingClamped(max(0, time))
    guard lanes.count > 1 else { return lane.value.used = used }
    guard let place = place(of: lane) else { return }
    lanes.remove(at: place)
    lane.value.used = used
    insert(lane)
  }

  /// Takes an item out; the last one of a key leaves what was learned behind.
  mutating func remove(_ work: IdleWork) {
    guard let lane = work.lane.value, let place = place(of: lane) else { return }
    count -= 1
    lane.value.remove(work)
    guard lane.value.count > 0, let first = lane.value.firstWaiting else {
      lanes.remove(at: place)
      if newest === lane { newest = nil }
      guard let key = lane.value.key else { return }
      laneOf[key] = nil
      learned.append((key, lane.value.costs))
      if learned.count > Backlog.mostLearned { learned.removeFirst() }
      return
    }
    firstOverdue = min(firstOverdue, first.overdueAt)
    guard first.priority != lane.value.priority else { return }
    lanes.remove(at: place)
    lane.value.priority = first.priority
    insert(lane)
  }

  func items(of key: IdleKey) -> [IdleWork] { laneOf[key]?.value.all ?? [] }

  /// Everything, in no order, which leaves it empty.
  mutating func removeAll() -> [IdleWork] {
    let all = lanes.flatMap { $0.value.all }
    for work in all { work.lane = Unretained(nil) }
    lanes = []
    newest = nil
    laneOf = [:]
    count = 0
    return all
  }

  // MARK: Keeping the order

  private mutating func insert(_ lane: Lane.Reference) {
    turns += 1
    lane.value.turn = turns
    lanes.insert(lane, at: lowerBound(lane))
  }

  private func place(of lane: Lane.Reference) -> Int? {
    let place = lowerBound(lane)
    return place < lanes.count && lanes[place] === lane ? place : nil
  }

  private func lowerBound(_ lane: Lane.Reference) -> Int {
    var (low, high) = (0, lanes.count)
    while low < high {
      let middle = (low + high) / 2
      if lanes[middle].value.precedes(lane.value) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
