// SPDX-License-Identifier: Apache-2.0

/// The queued work of a loop, by key. Keys share the time fairly; what has one key runs in the
/// order it came.
struct Backlog: ~Copyable {
  /// In the order of their next turns.
  private var lanes: [Lane] = []
  private var laneOf: [IdleKey: Lane] = [:]
  /// The one that work came for last.
  private var latest: Lane?
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
    // Most work comes for the key that had the last.
    if let lane = latest, let last = lane.last, work.hasKey(of: last) { return lane.append(work) }
    let key = work.key
    if let key, let lane = laneOf[key] {
      latest = lane
      return lane.append(work)
    }
    let lane = Lane(key, costs: takeLearned(key))
    latest = lane
    lane.append(work)
    lane.priority = work.priority
    // A newcomer is not owed the time that others used before it came.
    lane.used = lanes.first { $0.priority == work.priority }?.used ?? 0
    if let key { laneOf[key] = lane }
    insert(lane)
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
    guard lanes.count > 1 else { return lane.used = lane.used.addingClamped(max(0, time)) }
    guard let place = place(of: lane) else { return }
    lanes.remove(at: place)
    lane.used = lane.used.addingClamped(max(0, time))
    insert(lane)
  }

  /// Takes an item out; the last one of a key leaves what was learned behind.
  mutating func remove(_ work: IdleWork) {
    guard let lane = work.lane.value, let place = place(of: lane) else { return }
    count -= 1
    lane.remove(work)
    guard lane.count > 0, let first = lane.firstWaiting else {
      lanes.remove(at: place)
      if latest === lane { latest = nil }
      guard let key = lane.key else { return }
      laneOf[key] = nil
      learned.append((key, lane.costs))
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
    for work in all { work.lane = Unretained(nil) }
    lanes = []
    latest = nil
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
