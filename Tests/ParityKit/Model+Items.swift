// SPDX-License-Identifier: Apache-2.0

extension Model {
  package func add(_ item: Item, to mode: Mode) {
    guard isValid(item) else { return }
    if mode == .common {
      if !commonItems.contains(item) { commonItems.append(item) }
      for common in commonModes.sorted() { add(item, to: common) }
      return
    }
    makeMode(mode)
    guard !modesOf(item).contains(mode) else { return }
    switch item {
    case .source(let index):
      sources[index].modes.insert(mode)
      callbacks.scheduled(source: index, in: mode)
    case .timer(let index):
      if timers[index].modes.isEmpty {
        timersAdded += 1
        timers[index].added = timersAdded
      }
      timers[index].modes.insert(mode)
      insert(index, into: mode)
    case .observer(let index):
      observers[index].modes.insert(mode)
      let order = observers[index].order
      let place = modes[mode]!.observers.firstIndex { observers[$0].order > order }
      modes[mode]!.observers.insert(index, at: place ?? modes[mode]!.observers.count)
    }
  }

  package func remove(_ item: Item, from mode: Mode) {
    if mode == .common {
      guard let place = commonItems.firstIndex(of: item) else { return }
      commonItems.remove(at: place)
      for common in commonModes.sorted() { remove(item, from: common) }
      return
    }
    guard modesOf(item).contains(mode) else { return }
    switch item {
    case .source(let index):
      sources[index].modes.remove(mode)
      callbacks.cancelled(source: index, in: mode)
    case .timer(let index):
      timers[index].modes.remove(mode)
      modes[mode]!.timers.removeAll { $0 == index }
      arm(mode)
    case .observer(let index):
      observers[index].modes.remove(mode)
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
    guard choose(.commonItemsAreExact, cf: !modesOf(item).isEmpty, lull: true) else { return }
    for mode in modesOf(item).sorted() { remove(item, from: mode) }
    commonItems.removeAll { $0 == item }
  }

  package func signal(source index: Int) {
    guard sources[index].isValid, sources[index].signal == nil else { return }
    signals += 1
    sources[index].signal = signals
  }

  package func addCommonMode(_ mode: Mode) {
    guard commonModes.insert(mode).inserted else { return }
    for item in commonItems { add(item, to: mode) }
  }

  package func contains(_ item: Item, in mode: Mode) -> Bool {
    guard mode == .common else { return modesOf(item).contains(mode) }
    let isListed = commonItems.contains(item)
    if case .timer(let index) = item {
      let isOwned = isListed && !timers[index].modes.isEmpty
      return choose(.commonItemsAreExact, cf: isOwned, lull: isListed)
    }
    return isListed
  }

  package func isValid(_ item: Item) -> Bool {
    switch item {
    case .source(let index): sources[index].isValid
    case .timer(let index): timers[index].isValid
    case .observer(let index): observers[index].isValid
    }
  }

  private func modesOf(_ item: Item) -> Set<Mode> {
    switch item {
    case .source(let index): sources[index].modes
    case .timer(let index): timers[index].modes
    case .observer(let index): observers[index].modes
    }
  }
}
