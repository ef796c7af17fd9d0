// SPDX-License-Identifier: Apache-2.0

import ParityKit

/// Observers, common modes and blocks.
extension Scenario {
  static let observers = [
    Scenario(
      "S53", "observers are called by order, equal orders as they were added",
      Program(
        sources: [0], observers: [.of(.entry, order: 1), .of(.entry), .of(.entry)],
        [.add(s0, m0), .add(o2, m0), .add(o0, m0), .add(o1, m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, o2 entry m0, o1 entry m0, o0 entry m0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S53", "an observer added or invalidated meanwhile is not called",
      Program(
        sources: [0], observers: [.of(.entry), .of(.entry, order: 1), .of(.entry, order: 2)],
        on: [.observer(0): [[.add(o1, m0), .invalidate(o2)]]],
        [.add(s0, m0), .add(o0, m0), .add(o2, m0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, run m0 -> timedOut, run m0, "
        + "o0 entry m0, o1 entry m0, run m0 -> timedOut"),
    Scenario(
      "S53", "an observer removed meanwhile is called all the same",
      Program(
        sources: [0], observers: [.of(.entry), .of(.entry, order: 1)],
        on: [.observer(0): [[.remove(o1, m0)]]],
        [.add(s0, m0), .add(o0, m0), .add(o1, m0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, o1 entry m0, run m0 -> timedOut, "
        + "run m0, o0 entry m0, run m0 -> timedOut",
      lull:
        "s0 schedule m0, run m0, o0 entry m0, run m0 -> timedOut, run m0, "
        + "o0 entry m0, run m0 -> timedOut",
      by: .removedIsNotCalled),
    Scenario(
      "S53", "an observer taken out of this mode meanwhile, but not of all, is called all the same",
      Program(
        sources: [0], observers: [.of(.entry), .of(.entry, order: 1)],
        on: [.observer(0): [[.remove(o1, m0)]]],
        [.add(s0, m0), .add(o0, m0), .add(o1, m0), .add(o1, m1), .poll(m0)]),
      cf: "s0 schedule m0, run m0, o0 entry m0, o1 entry m0, run m0 -> timedOut",
      lull: "s0 schedule m0, run m0, o0 entry m0, run m0 -> timedOut",
      by: .removedIsNotCalled),
    Scenario(
      "S54", "an observer in its callback is not called by a nested run; others are",
      Program(
        sources: [0], observers: [.of(.beforeTimers, .exit), .of(.entry, .exit)],
        on: [.observer(0): [[.poll(m0)]]],
        [.add(s0, m0), .add(o0, m0), .add(o1, m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, o1 entry m0, o0 beforeTimers m0, run m0, "
        + "o1 entry m0, o1 exit m0, run m0 -> timedOut, o0 exit m0, o1 exit m0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S55", "an observer that does not repeat is valid in its callback, and never after",
      Program(
        sources: [0], observers: [.of(.entry, .beforeTimers, .exit, repeats: false)],
        on: [.observer(0): [[.isValid(o0), .contains(o0, m0)]]],
        [.add(s0, m0), .add(o0, m0), .poll(m0), .isValid(o0), .contains(o0, m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, valid o0 = true, "
        + "contains o0 m0 = true, run m0 -> timedOut, valid o0 = false, "
        + "contains o0 m0 = false, run m0, run m0 -> timedOut"),
    Scenario(
      "S57", "the default mode is common from the start; an item for the common modes is in each",
      Program(
        timers: [.at(1)],
        [.addCommonMode(m1), .add(t0, .common)]
          + [.contains(t0, m0), .contains(t0, m1), .contains(t0, m2), .contains(t0, .common)]),
      cf:
        "contains t0 m0 = true, contains t0 m1 = true, contains t0 m2 = false, "
        + "contains t0 common = true"),
    Scenario(
      "S57", "a mode that becomes common takes all common items in",
      Program(
        sources: [0], timers: [.at(1)], observers: [.of(.entry)],
        [.add(s0, .common), .add(t0, .common), .add(o0, .common), .addCommonMode(m1)]
          + [
            .contains(s0, m1), .contains(t0, m1), .contains(o0, m1), .poll(m1), .addCommonMode(m1),
          ]),
      cf:
        "s0 schedule m0, s0 schedule m1, contains s0 m1 = true, "
        + "contains t0 m1 = true, contains o0 m1 = true, run m1, o0 entry m1, "
        + "run m1 -> timedOut"),
    Scenario(
      "S57", "an item taken out of one mode stays a common item, and in the other modes",
      Program(
        observers: [.of(.entry)],
        [.addCommonMode(m1), .add(o0, .common), .remove(o0, m0)]
          + [.contains(o0, m0), .contains(o0, m1), .contains(o0, .common), .addCommonMode(m2)]
          + [.contains(o0, m2)]),
      cf:
        "contains o0 m0 = false, contains o0 m1 = true, contains o0 common = true, "
        + "contains o0 m2 = true"),
    Scenario(
      "S57", "taking an item out of the common modes takes it out of all of them, and no other",
      Program(
        timers: [.at(1)],
        [.addCommonMode(m1), .add(t0, .common), .add(t0, m2), .remove(t0, .common)]
          + [.contains(t0, m0), .contains(t0, m1), .contains(t0, m2), .contains(t0, .common)]),
      cf:
        "contains t0 m0 = false, contains t0 m1 = false, contains t0 m2 = true, "
        + "contains t0 common = false"),
    Scenario(
      "S57", "taking an item out of the common modes does nothing if it is no common item",
      Program(timers: [.at(1)], [.add(t0, m0), .remove(t0, .common), .contains(t0, m0)]),
      cf: "contains t0 m0 = true"),
    Scenario(
      "S57", "an item that is invalidated in no mode stays a common item",
      Program(
        observers: [.of(.entry)],
        [.add(o0, .common), .remove(o0, m0), .invalidate(o0), .contains(o0, .common)]),
      cf: "contains o0 common = true",
      lull: "contains o0 common = false",
      by: .commonItemsAreExact),
    Scenario(
      "S58", "the common modes cannot be run",
      Program(
        sources: [0], observers: [.all],
        [.add(s0, .common), .add(o0, .common), .run(.common), .poll(.common)]),
      cf:
        "s0 schedule m0, run common, run common -> finished, run common, "
        + "run common -> finished"),
  ]

  static let blocks = [
    Scenario(
      "S60", "blocks run once, in the order they were queued",
      Program(
        sources: [0],
        [.add(s0, m0), .perform([m0], []), .perform([m0], []), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, b0, b1, run m0 -> timedOut, run m0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S60", "blocks of other modes keep their order and wait",
      Program(
        sources: [0],
        [.add(s0, m0), .add(s0, m1), .perform([m1], []), .perform([m0], []), .perform([m1], [])]
          + [.perform([m0, m1], []), .poll(m0), .perform([m1], []), .poll(m1), .poll(m0)]),
      cf:
        "s0 schedule m0, s0 schedule m1, run m0, b1, b3, run m0 -> timedOut, "
        + "run m1, b0, b2, b4, run m1 -> timedOut, run m0, run m0 -> timedOut"),
    Scenario(
      "S60", "a block for the common modes runs in the first one that runs, and in no other",
      Program(
        sources: [0],
        [.add(s0, m0), .add(s0, m1), .add(s0, m2), .addCommonMode(m1), .perform([.common], [])]
          + [.poll(m2), .poll(m1), .poll(m0)]),
      cf:
        "s0 schedule m0, s0 schedule m1, s0 schedule m2, run m2, "
        + "run m2 -> timedOut, run m1, b0, run m1 -> timedOut, run m0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S60", "blocks run before sources and again after them, and after the wait",
      Program(
        sources: [0], timers: [.at(2), .stop(at: 3)],
        on: [.perform(0): [[.perform([m0], [])]], .timer(0): [[.perform([m0], [])]]],
        [.add(s0, m0), .add(t0, m0), .add(t1, m0), .perform([m0], []), .signal(0), .run(m0)]),
      cf:
        "s0 schedule m0, run m0, b0, s0, b1, +2, t0, b2, +1, t1, run m0 -> stopped"),
    Scenario(
      "S61", "a block queued by a block runs when blocks are run next, after those already queued",
      Program(
        sources: [0],
        [.add(s0, m0), .perform([m0], [.perform([m0], [])]), .perform([m0], [])]
          + [.poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, b0, b1, b2, run m0 -> timedOut, run m0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S61", "a nested run in a block does not run the blocks behind it",
      Program(
        sources: [0],
        [.add(s0, m0), .perform([m0], [.poll(m0)]), .perform([m0], []), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, b0, run m0, run m0 -> timedOut, b1, "
        + "run m0 -> timedOut"),
  ]
}
