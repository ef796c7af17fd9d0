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
  /// No lane goes up by age before this moment.
  private var nextAging = Int64.max

  private(set) var count = 0
  private var latestArrival = Int64.min

  /// What was queued last, if it waits still.
  var latest: Unretained<IdleWork> {
    guard let last = newest?.value.last, last.with(\.isQueued) == true else {
      return Unretained(nil)
    }
    return last
  }

  /// Queues work, which may be known to have the key of the latest.
  @inline(__always)
  mutating func append(_ work: IdleWork, followsLatest: Bool) {
    count += 1
    // No two come at a time: so it is known who came first.
    work.waitsSince = max(work.waitsSince, latestArrival + 1)
    latestArrival = work.waitsSince
    firstOverdue = min(firstOverdue, work.overdueAt)
    nextAging = min(nextAging, work.waitsSince.addingClamped(work.maximumWait / 2))
    let place: Place<Lane>
    if followsLatest, let newest {
      place = newest.place
    } else {
      let lane = lane(for: work)
      newest = lane
      place = lane.place
    }
    place.value.append(work)
    work.lane = place
    if place.value.priority != place.value.nextPriority { resort(place) }
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

  /// Whether a key waits whose priority is lower.
  @inline(__always)
  func hasLower(than lane: Place<Lane>) -> Bool {
    lanes.count > 1 && lanes[lanes.count - 1].value.priority < lane.value.priority
  }

  /// The keys by priority and turn.
  @inline(__always)
  func lane(_ number: Int) -> Place<Lane> { lanes[number].place }

  /// The key whose first item has been overdue for longest, if any is; paused ones aside while the
  /// user drags or scrolls. O(keys) when one may be.
  @inline(__always)
  mutating func overdue(at now: Int64, isTracking: Bool) -> Place<Lane>? {
    now >= firstOverdue ? findOverdue(at: now, isTracking) : nil
  }

  private mutating func findOverdue(at now: Int64, _ isTracking: Bool) -> Place<Lane>? {
    let first = lanes.filter { !isTracking || $0.value.first!.tracking != .pause }
      .min { $0.value.first!.overdueAt < $1.value.first!.overdueAt }
    // Those that are paused count again when that is over.
    if !isTracking { firstOverdue = first?.value.first?.overdueAt ?? .max }
    guard let first, now >= first.value.first!.overdueAt else { return nil }
    return first.place
  }

  /// Lets keys go up whose work has waited for half of its maximum, or three quarters. O(keys) when
  /// one may.
  @inline(__always)
  mutating func age(at now: Int64) { if now >= nextAging { ageLanes(at: now) } }

  private mutating func ageLanes(at now: Int64) {
    nextAging = .max
    for lane in lanes {
      guard let work = lane.value.first else { continue }
      let half = work.waitsSince.addingClamped(work.maximumWait / 2)
      let most = work.waitsSince.addingClamped(work.maximumWait - work.maximumWait / 4)
      lane.value.aged = now >= most ? 2 : now >= half ? 1 : 0
      if now < most { nextAging = min(nextAging, now < half ? half : most) }
      guard lane.value.priority != lane.value.nextPriority else { continue }
      // It goes before those that it comes to.
      let peer = lanes.first { $0.value.priority == lane.value.nextPriority }
      let used = min(lane.value.used, peer?.value.used ?? .max)
      resort(lane.place) { $0.used = used }
    }
  }

  /// Work that waits gets another priority.
  mutating func set(_ priority: IdleWork.Priority, of work: IdleWork) {
    guard let lane = work.lane else { return work.set(priority) }
    lane.value.set(priority, of: work)
    resort(lane)
  }

  /// A key has had a turn that took so long.
  @inline(__always)
  mutating func rotate(_ lane: Place<Lane>, after time: Int64) {
    let used = lane.value.used.addingClamped(max(0, time))
    lane.value.aged = 0
    lane.value.front.with {
      nextAging = min(nextAging, $0.waitsSince.addingClamped($0.maximumWait / 2))
    }
    guard lanes.count > 1 else {
      lane.value.priority = lane.value.nextPriority
      return lane.value.used = used
    }
    resort(lane) { $0.used = used }
  }

  /// Takes an item out; the last one of a key leaves what was learned behind.
  mutating func remove(_ work: IdleWork) {
    guard let lane = work.lane else { return }
    count -= 1
    lane.value.remove(work)
    if lane.value.count == 0 { return removeLane(lane) }
    lane.value.front.with {
      firstOverdue = min(firstOverdue, $0.overdueAt)
      nextAging = min(nextAging, $0.waitsSince.addingClamped($0.maximumWait / 2))
    }
    if lane.value.priority != lane.value.nextPriority { resort(lane) }
  }

  private mutating func removeLane(_ place: Place<Lane>) {
    guard let number = number(of: place) else { return }
    let lane = lanes.remove(at: number)
    assert(!lane.value.isRunning, "an item is taken out while its piece runs")
    if newest === lane { newest = nil }
    guard let key = lane.value.key else { return }
    laneOf[key] = nil
    learned.append((key, lane.value.costs))
    if learned.count > Backlog.mostLearned { learned.removeFirst() }
  }

  /// The item that was queued first, of those that have not begun. O(keys), as a rule.
  var oldest: IdleWork? {
    lanes.compactMap { $0.value.firstUntouched }.min { $0.waitsSince < $1.waitsSince }
  }

  /// The item that was queued last, of those that have not begun. O(n).
  var youngest: IdleWork? {
    all.filter(\.isUntouched).max { $0.waitsSince < $1.waitsSince }
  }

  /// The items that wait, of all keys. O(n).
  var all: [IdleWork] { lanes.flatMap { $0.value.all } }

  func items(of key: IdleKey) -> [IdleWork] { laneOf[key]?.value.all ?? [] }

  /// Everything, in no order, which leaves it empty.
  mutating func removeAll() -> [IdleWork] {
    let all = all
    for work in all { work.lane = nil }
    lanes = []
    newest = nil
    laneOf = [:]
    count = 0
    return all
  }

  // MARK: Keeping the order

  /// Puts a lane where it belongs after a change of what it goes by.
  private mutating func resort(_ place: Place<Lane>, _ change: (inout Lane) -> Void = { _ in }) {
    let lane = number(of: place).map { lanes.remove(at: $0) }
    place.value.priority = place.value.nextPriority
    change(&place.value)
    if let lane { insert(lane) }
  }

  private mutating func insert(_ lane: Lane.Reference) {
    turns += 1
    lane.value.turn = turns
    lanes.insert(lane, at: lowerBound(lane.place))
  }

  private func number(of lane: Place<Lane>) -> Int? {
    let number = lowerBound(lane)
    return number < lanes.count && lanes[number].place == lane ? number : nil
  }

  private func lowerBound(_ lane: Place<Lane>) -> Int {
    var (low, high) = (0, lanes.count)
    while low < high {
      let middle = (low + high) / 2
      if lanes[middle].value.precedes(lane.value) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
