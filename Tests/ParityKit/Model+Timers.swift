// SPDX-License-Identifier: Apache-2.0

extension Model {
  package func setNextFire(timer index: Int, tick date: Int) {
    guard timers[index].isValid else { return }
    timers[index].date = date
    reposition(index, at: max(tick, date))
  }

  package func nextFire(ofTimer index: Int) -> Int? {
    timers[index].isValid ? timers[index].date : nil
  }

  /// The date of the earliest timer, one that fires included.
  package func nextFire(in mode: Mode) -> Int? {
    modes[mode].flatMap { _ in sortedTimers(mode).first }.map { timers[$0].date }
  }

  /// A mode's timers by deadline.
  private func sortedTimers(_ mode: Mode) -> [Int] {
    let byInsertion = modes[mode]!.timers
    let byAddition = byInsertion.sorted {
      (timers[$0].deadline, timers[$0].added) < (timers[$1].deadline, timers[$1].added)
    }
    return choose(.equalDeadlinesInAddOrder, cf: byInsertion, lull: byAddition)
  }

  /// The timers to fire now, in order.
  func dueTimers(_ mode: Mode) -> [Int] {
    sortedTimers(mode).filter { timers[$0].deadline <= tick && !timers[$0].isFiring }
  }

  func nextDeadline(_ mode: Mode) -> Int? {
    modes[mode]!.timers.lazy.filter { [timers] in !timers[$0].isFiring }
      .map { [timers] in timers[$0].deadline }.first
  }

  /// Fires timers, each if it is still due when its turn comes.
  func fire(_ due: [Int]) {
    let mode = innermost.mode
    var anyFired = false
    for index in due where isDue(index) {
      let isThere = timers[index].modes.contains(mode)
      guard choose(.removedIsNotCalled, cf: true, lull: isThere) else { continue }
      anyFired = true
      fire(index, in: mode)
    }
    if !anyFired { rearm(mode) }
  }

  private func isDue(_ index: Int) -> Bool {
    let timer = timers[index]
    return timer.isValid && timer.deadline <= tick && !timer.isFiring && !timer.modes.isEmpty
  }

  private func fire(_ index: Int, in mode: Mode) {
    timers[index].isFiring = true
    rearm(mode)
    let fired = timers[index].deadline
    callbacks.fired(timer: index)
    if timers[index].interval == 0 { invalidate(.timer(index)) }
    timers[index].isFiring = false
    guard timers[index].isValid else { return }
    if timers[index].deadline > fired {
      // It was given a later date by its own callback.
      arm(mode)
    } else {
      let next = nextOnGrid(from: fired, interval: timers[index].interval)
      timers[index].date = next
      reposition(index, at: next)
    }
  }

  /// The first date of a timer's grid after now: missed ones are left out.
  private func nextOnGrid(from fired: Int, interval: Int) -> Int {
    fired + ((tick - fired) / interval + 1) * interval
  }

  private func reposition(_ index: Int, at deadline: Int) {
    timers[index].deadline = deadline
    for mode in timers[index].modes {
      modes[mode]!.timers.removeAll { $0 == index }
      insert(index, into: mode)
    }
  }

  /// Puts a timer behind those with an equal deadline.
  func insert(_ index: Int, into mode: Mode) {
    let deadline = timers[index].deadline
    let place = modes[mode]!.timers.firstIndex { timers[$0].deadline > deadline }
    modes[mode]!.timers.insert(index, at: place ?? modes[mode]!.timers.count)
    arm(mode)
  }

  /// CF's way with its timer descriptor: it is set for the next timer that does not fire, unless
  /// CF believes it is set for that already, and it is never unset.
  func arm(_ mode: Mode) {
    let next = nextDeadline(mode)
    if next != nil && next != modes[mode]!.armedFor { modes[mode]!.armed = next }
    modes[mode]!.armedFor = next
  }

  /// Sets the descriptor whatever it was set for.
  func rearm(_ mode: Mode) {
    modes[mode]!.armedFor = nil
    arm(mode)
  }
}
