// SPDX-License-Identifier: Apache-2.0

/// The queued work of a loop, by key. Keys take turns; what has one key runs in the order it came.
struct Backlog: ~Copyable {
  /// The items of one key, and what its pieces cost.
  final class Lane {
    let key: IdleKey
    var items: [IdleWork] = []
    var costs: CostModel

    init(_ key: IdleKey, costs: CostModel) {
      self.key = key
      self.costs = costs
    }
  }

  /// In the order of their next turns.
  private var lanes: [Lane] = []
  private var laneOf: [IdleKey: Lane] = [:]
  /// What was learned of keys that have nothing queued now, the latest last.
  private var learned: [(key: IdleKey, costs: CostModel)] = []
  private static let mostLearned = 64

  private(set) var count = 0

  mutating func append(_ work: IdleWork) {
    count += 1
    if let lane = laneOf[work.key] { return lane.items.append(work) }
    var costs = CostModel()
    if let known = learned.firstIndex(where: { $0.key == work.key }) {
      costs = learned.remove(at: known).costs
    }
    let lane = Lane(work.key, costs: costs)
    lane.items.append(work)
    laneOf[work.key] = lane
    lanes.append(lane)
  }

  /// The keys whose turn it is, first things first: by priority of their first item, then by turn.
  var candidates: [Lane] {
    guard lanes.count > 1 else { return lanes }
    return IdleWork.Priority.allCases.reversed().flatMap { priority in
      lanes.filter { $0.items[0].priority == priority }
    }
  }

  /// A key has had its turn.
  mutating func rotate(_ lane: Lane) {
    guard lanes.count > 1, let index = lanes.firstIndex(where: { $0 === lane }) else { return }
    lanes.append(lanes.remove(at: index))
  }

  /// Takes an item out; the last one of a key leaves what was learned behind.
  mutating func remove(_ work: IdleWork) {
    guard let lane = laneOf[work.key], let index = lane.items.firstIndex(where: { $0 === work })
    else { return }
    lane.items.remove(at: index)
    count -= 1
    guard lane.items.isEmpty else { return }
    laneOf[work.key] = nil
    lanes.removeAll { $0 === lane }
    learned.append((lane.key, lane.costs))
    if learned.count > Backlog.mostLearned { learned.removeFirst() }
  }

  func items(of key: IdleKey) -> [IdleWork] { laneOf[key]?.items ?? [] }

  /// Everything, in no order, which leaves it empty.
  mutating func removeAll() -> [IdleWork] {
    let all = lanes.flatMap(\.items)
    lanes = []
    laneOf = [:]
    count = 0
    return all
  }
}
