// SPDX-License-Identifier: Apache-2.0

/// The observers of a mode, in calling order. The loop's items keep them alive.
struct ObserverList: ~Copyable {
  private var observers = Slab<Unretained<Loop.Observer>>()
  /// All that they look at, so that a notification nobody wants costs a bit test.
  private(set) var activities: Loop.Activities = []

  /// Puts an observer behind those of its order. O(n).
  mutating func insert(_ observer: Loop.Observer) {
    observers.append(Unretained(observer))
    var place = observers.count - 1
    while place > 0, observers[place - 1].with({ $0.order > observer.order })! {
      observers[place] = observers[place - 1]
      place -= 1
    }
    observers[place] = Unretained(observer)
    activities.formUnion(observer.activities)
  }

  mutating func remove(_ observer: Loop.Observer) {
    observers.filter { !$0.refers(to: observer) }
    activities = []
    for place in 0..<observers.count {
      observers[place].with { activities.formUnion($0.activities) }
    }
  }

  /// Appends those that look at `activity`, each kept alive until its caller releases it.
  func collect(_ activity: Loop.Activities, into found: inout Slab<Unretained<Loop.Observer>>) {
    for place in 0..<observers.count
    where observers[place].with({ $0.activities.contains(activity) })! {
      observers[place].retain()
      found.append(observers[place])
    }
  }
}
