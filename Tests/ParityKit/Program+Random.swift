// SPDX-License-Identifier: Apache-2.0

extension Program {
  /// A program made up from a seed. Every operation can occur in every context, and small numbers
  /// of items, modes and ticks make them meet.
  ///
  /// - Parameter alwaysStops: put the stopping timer into every mode from the start. Without it
  ///   that is done for every other program; the rest rely on `Callbacks.sleepsForEver`, and so
  ///   have modes that are missing or empty.
  package init(seed: UInt64, alwaysStops: Bool = false) {
    var dice = Dice(random: SplitMix64(seed: seed))
    self.init()
    modeCount = 2 + dice.below(3)
    dice.modeCount = modeCount
    let most = dice.isLucky(8) ? 8 : 4
    sources = (0..<dice.below(most)).map { _ in dice.below(3) - 1 }
    timers = (0..<dice.below(most)).map { _ in
      .init(first: dice.below(12) - 3, interval: dice.isLucky(2) ? 0 : 1 + dice.below(6))
    }
    timers.append(.init(first: 40, interval: 1, stops: true))
    observers = (0..<dice.below(most)).map { _ in dice.observer() }
    dice.items =
      sources.indices.map(Item.source) + timers.indices.dropLast().map(Item.timer)
      + observers.indices.map(Item.observer)
    for trigger in triggers where !dice.isLucky(4) {
      let length = trigger.isSeldom ? 8 : 4
      scripts[trigger] = (0...dice.below(4)).map { _ in dice.ops(upTo: length, nesting: 2) }
    }
    top = topOps(&dice, stopsEverywhere: alwaysStops || dice.isLucky(2))
  }

  /// What may have a script: not the stopping timer, as a run in its callback would never stop.
  private var triggers: [Trigger] {
    sources.indices.flatMap { [.perform($0), .schedule($0), .cancel($0)] }
      + timers.indices.dropLast().map(Trigger.timer) + observers.indices.map(Trigger.observer)
  }

  private func topOps(_ dice: inout Dice, stopsEverywhere: Bool) -> [Op] {
    let stopper = Item.timer(timers.count - 1)
    var ops: [Op] = []
    if stopsEverywhere { ops += (0..<modeCount).map { .add(stopper, Mode($0)) } }
    for item in dice.items.shuffled(using: &dice.random) where !dice.isLucky(5) {
      ops.append(.add(item, dice.mode()))
      if dice.isLucky(3) { ops.append(.add(item, dice.mode())) }
    }
    for _ in 0...dice.below(3) {
      ops += dice.ops(upTo: 4, nesting: 2)
      ops.append(.run(dice.realMode(), polls: dice.isLucky(4), once: dice.isLucky(2)))
    }
    return ops
  }
}

extension Program.Trigger {
  /// Whether it comes so seldom that its scripts should be long.
  fileprivate var isSeldom: Bool {
    switch self {
    case .observer, .cancel: true
    case .perform, .schedule, .timer: false
    }
  }
}

/// Throws of dice for a program with some modes and items.
private struct Dice {
  var random: SplitMix64
  var modeCount = 1
  var items: [Item] = []

  init(random: SplitMix64) { self.random = random }

  /// A number from 0 up to, not including, a bound.
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  /// True once in so many throws.
  mutating func isLucky(_ odds: Int) -> Bool { below(odds) == 0 }

  /// A real mode, most often the default mode.
  mutating func realMode() -> Mode { isLucky(2) ? .initial : Mode(below(modeCount)) }

  mutating func mode() -> Mode { isLucky(4) ? .common : realMode() }

  mutating func item() -> Item? { items.randomElement(using: &random) }

  /// An observer of several activities or, more often, of one, so that those that come seldom and
  /// late have their share of callbacks.
  mutating func observer() -> Program.ObserverSpec {
    var activities = 0
    if isLucky(3) {
      for activity in Activity.allCases where isLucky(2) { activities |= activity.rawValue }
    }
    if activities == 0 { activities = Activity.allCases.randomElement(using: &random)!.rawValue }
    return .init(activities: activities, order: below(3) - 1, repeats: !isLucky(5))
  }

  mutating func ops(upTo most: Int, nesting: Int) -> [Op] {
    (0..<below(most + 1)).flatMap { _ in
      isLucky(40) ? motif() : op(nesting: nesting).map { [$0] } ?? []
    }
  }

  /// Operations that mean something together, and that chance would seldom put side by side.
  private mutating func motif() -> [Op] {
    guard let item = item() else { return [] }
    switch below(3) {
    case 0:
      // A common item that is in no mode any more, perhaps invalid.
      let removals = (0..<modeCount).map { Op.remove(item, Mode($0)) }
      let end: [Op] = isLucky(2) ? [.invalidate(item)] : []
      return [.add(item, .common)] + removals + end + [.contains(item, .common)]
    case 1:
      return items.compactMap { if case .source(let index) = $0 { .signal(index) } else { nil } }
    default:
      return [.add(item, .common), .addCommonMode(Mode(1)), .contains(item, Mode(1))]
    }
  }

  private mutating func source() -> Int? {
    items.filter { if case .source = $0 { true } else { false } }.indices
      .randomElement(using: &random)
  }

  private mutating func timer() -> Int? {
    items.filter { if case .timer = $0 { true } else { false } }.indices
      .randomElement(using: &random)
  }

  /// One operation; nil when it needs an item of a kind that the program has none of.
  private mutating func op(nesting: Int) -> Op? {
    switch below(43) {
    case 0...3: return item().map { .add($0, mode()) }
    case 4...5: return item().map { .remove($0, mode()) }
    case 6...7: return item().map { .invalidate($0) }
    case 8...11: return source().map { .signal($0) }
    case 12...13: return .wakeUp
    case 14...15: return .stop
    case 16...18: return timer().map { .setNextFire($0, below(8) - 2) }
    case 19...22:
      let modes = isLucky(4) ? [mode(), mode()] : [mode()]
      return .perform(modes, nesting == 0 ? [] : ops(upTo: 3, nesting: nesting - 1))
    case 23...26:
      return .run(isLucky(20) ? .common : realMode(), polls: isLucky(2), once: isLucky(2))
    case 27...28: return .work(1 + below(4))
    case 29...30: return .addCommonMode(Mode(1 + below(modeCount - 1)))
    case 31...32: return item().map { .contains($0, mode()) }
    case 33...34: return item().map { .isValid($0) }
    case 35...36: return timer().map { .nextFire($0) }
    case 37...38: return .nextFireIn(realMode())
    case 39...40: return .currentMode
    default: return .allModes
    }
  }
}
