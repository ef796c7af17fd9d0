// SPDX-License-Identifier: Apache-2.0

extension Model {
  package func add(_ item: Item, to mode: Mode) {
    guard isValid(item) else { return }
    if mode == .common {
      if !commonItems.contains(item) { commonItems.append(item) }
      for common in commonModes { add(item, to: common) }
      return
    }
    if case .timer(let index) = item, timers[index].modes.isEmpty {
      timersAdded += 1
      timers[index].added = timersAdded
    }
    join(item, mode)
  }

  private func join(_ item: Item, _ mode: Mode) {
    guard isValid(item), !modesOf(item).contains(mode) else { return }
    makeMode(mode)
    switch item {
    case .source(let index):
      sources[index].modes.append(mode)
      callbacks.scheduled(source: index, in: mode)
    case .timer(let index):
      timers[index].modes.append(mode)
      insert(index, into: mode)
    case .observer(let index):
      observers[index].modes.append(mode)
      let order = observers[index].order
      let place = modes[mode]!.observers.firstIndex { observers[$0].order > order }
      modes[mode]!.observers.insert(index, at: place ?? modes[mode]!.observers.count)
    }
  }

  package func remove(_ item: Item, from mode: Mode) {
    if mode == .common {
      guard let place = commonItems.firstIndex(of: item) else { return }
      commonItems.remove(at: place)
      for common in commonModes { remove(item, from: common) }
      return
    }
    guard modesOf(item).contains(mode) else { return }
    switch item {
    case .source(let index):
      sources[index].modes.removeAll { $0 == mode }
      callbacks.cancelled(source: index, in: mode)
    case .timer(let index):
      timers[index].modes.removeAll { $0 == mode }
      modes[mode]!.timers.removeAll { $0 == index }
      arm(mode)
    case .observer(let index):
      observers[index].modes.removeAll { $0 == mode }
      modes[mode]!.observers.removeAll { $0 == index }
    }
  }

  package func invalidate(_ item: Item) {
    guard isValid(item) else { return }
    switch item {
    case .source(let index):
      sources[index].isValid = false
      sources[index].signal = nil
    case .timer(let index): timers[index].isValid = false
    case .observer(let index): observers[index].isValid = false
    }
    // CF finds the loop to take it out of by the modes it is in.
    guard !modesOf(item).isEmpty else { return }
    for mode in modesOf(item) { remove(item, from: mode) }
    commonItems.removeAll { $0 == item }
  }

  package func signal(source index: Int) {
    guard sources[index].isValid, sources[index].signal == nil else { return }
    signals += 1
    sources[index].signal = signals
  }

  package func addCommonMode(_ mode: Mode) {
    guard !commonModes.contains(mode) else { return }
    commonModes.append(mode)
    for item in commonItems { join(item, mode) }
  }

  package func contains(_ item: Item, in mode: Mode) -> Bool {
    guard mode == .common else { return modesOf(item).contains(mode) }
    let isListed = commonItems.contains(item)
    var isOwned = isListed
    if case .timer(let index) = item { isOwned = isListed && !timers[index].modes.isEmpty }
    return choose(.commonItemsAreExact, cf: isOwned, lull: isListed && isValid(item))
  }

  package func isValid(_ item: Item) -> Bool {
    switch item {
    case .source(let index): sources[index].isValid
    case .timer(let index): timers[index].isValid
    case .observer(let index): observers[index].isValid
    }
  }

  private func modesOf(_ item: Item) -> [Mode] {
    switch item {
    case .source(let index): sources[index].modes
    case .timer(let index): timers[index].modes
    case .observer(let index): observers[index].modes
    }
  }
}
