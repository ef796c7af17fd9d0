// SPDX-License-Identifier: Apache-2.0

import ParityKit

/// Sources that are signalled by hand.
extension Scenario {
  static let sources = [
    Scenario(
      "S25", "signalling again before it is performed changes nothing, not even the order",
      Program(
        sources: [0, 0],
        [.add(s0, m0), .add(s1, m0), .signal(0), .signal(1), .signal(0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, run m0, s0, s1, run m0 -> timedOut, "
        + "run m0, run m0 -> timedOut"),
    Scenario(
      "S25", "a signal stays until a run in one of the source's modes performs it",
      Program(
        sources: [0, 0],
        [.signal(0), .add(s0, m1), .add(s1, m0), .poll(m0), .poll(m1), .poll(m1)]),
      cf:
        "s0 schedule m1, s1 schedule m0, run m0, run m0 -> timedOut, run m1, s0, "
        + "run m1 -> timedOut, run m1, run m1 -> timedOut"),
    Scenario(
      "S25", "signalling an invalid source does nothing",
      Program(
        sources: [0, 0],
        [.add(s0, m0), .add(s1, m0), .invalidate(s0), .signal(0), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, s0 cancel m0, run m0, run m0 -> timedOut"),
    Scenario(
      "S26", "signalled sources are performed by order, then in the order of their signals",
      Program(
        sources: [1, 0, 0],
        [.add(s0, m0), .add(s1, m0), .add(s2, m0), .signal(0), .signal(2), .signal(1), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, s2 schedule m0, run m0, s2, s1, s0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S26", "a source that signals itself is performed again in the next pass",
      Program(
        sources: [0], on: [.perform(0): [[.signal(0)]]],
        [.add(s0, m0), .signal(0), .poll(m0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, s0, run m0 -> timedOut, run m0, s0, "
        + "run m0 -> timedOut, run m0, run m0 -> timedOut"),
    Scenario(
      "S26", "a source signalled in no mode and added again is performed once a pass",
      Program(
        sources: [0], on: [.perform(0): [[.signal(0)]]],
        [.add(s0, .common), .remove(s0, m0), .signal(0), .add(s0, m0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, s0 cancel m0, s0 schedule m0, run m0, s0, run m0 -> timedOut, "
        + "run m0, s0, run m0 -> timedOut"),
    Scenario(
      "S26", "the same beside another one that waits",
      Program(
        sources: [0, 1], on: [.perform(0): [[.signal(0)]]],
        [
          .add(s1, m0), .signal(1), .add(s0, .common), .remove(s0, m0), .signal(0), .add(s0, m0),
          .poll(m0), .poll(m0),
        ]),
      cf:
        "s1 schedule m0, s0 schedule m0, s0 cancel m0, s0 schedule m0, run m0, s0, s1, "
        + "run m0 -> timedOut, run m0, s0, run m0 -> timedOut"),
    Scenario(
      "S26", "a source taken out by an earlier one and added again is performed all the same",
      Program(
        sources: [0, 1], on: [.perform(0): [[.remove(s1, m0), .add(s1, m0)]]],
        [.add(s0, m0), .add(s1, m0), .signal(0), .signal(1), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, run m0, s0, s1 cancel m0, s1 schedule m0, s1, "
        + "run m0 -> timedOut, run m0, run m0 -> timedOut"),
    Scenario(
      "S26", "a source that another signals in the same pass waits for the next",
      Program(
        sources: [0, 1], on: [.perform(0): [[.signal(1)]]],
        [.add(s0, m0), .add(s1, m0), .signal(0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, run m0, s0, run m0 -> timedOut, run m0, "
        + "s1, run m0 -> timedOut"),
    Scenario(
      "S27", "a run that returns after a source performs one; the others wait in order",
      Program(
        sources: [1, 0, -1],
        [.add(s0, m0), .add(s1, m0), .add(s2, m0), .signal(0), .signal(1), .signal(2)]
          + [.runOnce(m0), .runOnce(m0), .runOnce(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, s2 schedule m0, run m0, s2, "
        + "run m0 -> handledSource, run m0, s1, run m0 -> handledSource, run m0, s0, "
        + "run m0 -> handledSource, run m0, run m0 -> timedOut"),
    Scenario(
      "S28", "a source that an earlier one of the pass removed is performed all the same",
      Program(
        sources: [0, 1], on: [.perform(0): [[.remove(s1, m0)]]],
        [.add(s0, m0), .add(s1, m0), .signal(0), .signal(1), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, run m0, s0, s1 cancel m0, s1, "
        + "run m0 -> timedOut",
      lull:
        "s0 schedule m0, s1 schedule m0, run m0, s0, s1 cancel m0, "
        + "run m0 -> timedOut",
      by: .removedIsNotCalled),
    Scenario(
      "S28", "a source that an earlier one of the pass invalidated is not performed",
      Program(
        sources: [-1, 0, 1], on: [.perform(0): [[.invalidate(s1)]]],
        [.add(s0, m0), .add(s1, m0), .add(s2, m0), .signal(0), .signal(1), .signal(2), .poll(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, s2 schedule m0, run m0, s0, s1 cancel m0, "
        + "s2, run m0 -> timedOut"),
    Scenario(
      "S29", "whether a pass handled a source is what became of the last one",
      Program(
        sources: [0, 1], timers: [.stop(at: 4)], observers: [.of(.beforeTimers, .beforeWaiting)],
        on: [.perform(0): [[.invalidate(s1)]]],
        [.add(s0, m0), .add(s1, m0), .add(t0, m0), .add(o0, m0)]
          + [.signal(0), .signal(1), .run(m0)]),
      cf:
        "s0 schedule m0, s1 schedule m0, run m0, o0 beforeTimers m0, s0, "
        + "s1 cancel m0, o0 beforeWaiting m0, +4, t0, run m0 -> stopped",
      lull:
        "s0 schedule m0, s1 schedule m0, run m0, o0 beforeTimers m0, s0, "
        + "s1 cancel m0, o0 beforeTimers m0, o0 beforeWaiting m0, +4, t0, "
        + "run m0 -> stopped",
      by: .handledIsOr),
    Scenario(
      "S30", "a source is told of each mode it joins and leaves, common modes one by one",
      Program(
        sources: [0],
        [.addCommonMode(m1), .add(s0, .common), .addCommonMode(m2), .remove(s0, m0)]
          + [.contains(s0, .common), .add(s0, .common), .remove(s0, .common)]),
      cf:
        "s0 schedule m0, s0 schedule m1, s0 schedule m2, s0 cancel m0, "
        + "contains s0 common = true, s0 schedule m0, s0 cancel m0, s0 cancel m1, "
        + "s0 cancel m2"),
    Scenario(
      "S30", "a source is told that it left when it is invalid, of every mode",
      Program(
        sources: [0], on: [.cancel(0): [[.isValid(s0), .contains(s0, m0), .contains(s0, m1)]]],
        [.add(s0, m0), .add(s0, m1), .invalidate(s0), .invalidate(s0)]),
      cf:
        "s0 schedule m0, s0 schedule m1, s0 cancel m0, valid s0 = false, "
        + "contains s0 m0 = false, contains s0 m1 = false, s0 cancel m1"),
    Scenario(
      "S30", "a source is told after the fact: it is there, or no longer there",
      Program(
        sources: [0],
        on: [.schedule(0): [[.contains(s0, m0)]], .cancel(0): [[.contains(s0, m0)]]],
        [.add(s0, m0), .remove(s0, m0)]),
      cf:
        "s0 schedule m0, contains s0 m0 = true, s0 cancel m0, "
        + "contains s0 m0 = false"),
    Scenario(
      "S31", "an invalid source leaves all modes, loses its signal and is never added",
      Program(
        sources: [0],
        [.add(s0, m0), .add(s0, m1), .signal(0), .invalidate(s0), .add(s0, m2), .isValid(s0)]
          + [.contains(s0, m0), .contains(s0, m1), .contains(s0, m2), .poll(m0), .poll(m2)]),
      cf:
        "s0 schedule m0, s0 schedule m1, s0 cancel m0, s0 cancel m1, "
        + "valid s0 = false, contains s0 m0 = false, contains s0 m1 = false, "
        + "contains s0 m2 = false, run m0, run m0 -> finished, run m2, "
        + "run m2 -> finished"),
  ]
}
