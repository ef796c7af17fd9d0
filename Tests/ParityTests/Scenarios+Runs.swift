// SPDX-License-Identifier: Apache-2.0

import ParityKit

/// Modes, the order of a run, results, stops and wake-ups.
extension Scenario {
  static let modes = [
    Scenario(
      "S3", "naming a mode common or running it does not bring it into being",
      Program([.addCommonMode(m1), .poll(m1), .poll(m2), .allModes]),
      cf: "run m1, run m1 -> finished, run m2, run m2 -> finished, modes = m0"),
    Scenario(
      "S3", "an item or a block brings its mode into being",
      Program(sources: [0], [.add(s0, m1), .perform([m2], []), .allModes]),
      cf: "s0 schedule m1, modes = m0 m1 m2"),
    Scenario(
      "S3", "a block for the common modes brings a mode of that name into being",
      Program([.perform([.common], []), .allModes]),
      cf: "modes = common m0"),
    Scenario(
      "S6", "the current mode is the innermost run's, and there is none outside",
      Program(
        timers: [.at(1), .at(2)],
        on: [.timer(0): [[.run(m1), .currentMode]], .timer(1): [[.currentMode]]],
        [.currentMode, .add(t0, m0), .add(t1, m1), .run(m0), .currentMode]),
      cf:
        "mode = none, run m0, +1, t0, run m1, +1, t1, mode = m1, "
        + "run m1 -> finished, mode = m0, run m0 -> finished, mode = none"),
    Scenario(
      "S7", "an item may be in several modes",
      Program(
        sources: [0], timers: [.at(1)], observers: [.of(.entry)],
        [.add(s0, m0), .add(s0, m1), .add(t0, m0), .add(t0, m1), .add(o0, m0), .add(o0, m1)]
          + [s0, t0, o0].flatMap { [.contains($0, m0), .contains($0, m1), .contains($0, m2)] }),
      cf:
        "s0 schedule m0, s0 schedule m1, contains s0 m0 = true, "
        + "contains s0 m1 = true, contains s0 m2 = false, contains t0 m0 = true, "
        + "contains t0 m1 = true, contains t0 m2 = false, contains o0 m0 = true, "
        + "contains o0 m1 = true, contains o0 m2 = false"),
    Scenario(
      "S8", "adding a source to a mode again changes nothing",
      Program(sources: [0], [.add(s0, m0), .add(s0, m0), .remove(s0, m0), .remove(s0, m0)]),
      cf: "s0 schedule m0, s0 cancel m0"),
  ]

  static let runs = [
    Scenario(
      "S9", "an idle poll is one pass without a wait",
      Program(sources: [0], observers: [.all], [.add(s0, m0), .add(o0, m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, o0 beforeTimers m0, "
        + "o0 beforeSources m0, o0 exit m0, run m0 -> timedOut"),
    Scenario(
      "S9", "a pass that performed a source is followed by one that sleeps",
      Program(
        sources: [0], timers: [.stop(at: 3)], observers: [.all],
        [.add(s0, m0), .add(t0, m0), .add(o0, m0), .signal(0), .run(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, o0 beforeTimers m0, "
        + "o0 beforeSources m0, s0, o0 beforeTimers m0, o0 beforeSources m0, "
        + "o0 beforeWaiting m0, +3, o0 afterWaiting m0, t0, o0 exit m0, "
        + "run m0 -> stopped"),
    Scenario(
      "S9", "a timer fires after the wait",
      Program(timers: [.at(5)], observers: [.all], [.add(t0, m0), .add(o0, m0), .run(m0)]),
      cf:
        "run m0, o0 entry m0, o0 beforeTimers m0, o0 beforeSources m0, "
        + "o0 beforeWaiting m0, +5, o0 afterWaiting m0, t0, o0 exit m0, "
        + "run m0 -> finished"),
    Scenario(
      "S9", "a stop by an entry observer leaves no pass",
      Program(
        sources: [0], observers: [.all], on: [.observer(0): [[.stop]]],
        [.add(s0, m0), .add(o0, m0), .run(m0)]),
      cf: "s0 schedule m0, run m0, o0 entry m0, o0 exit m0, run m0 -> stopped"),
    Scenario(
      "S9", "a stop by a beforeWaiting observer ends the wait before it began",
      Program(
        sources: [0], observers: [.all, .of(.beforeWaiting)], on: [.observer(1): [[.stop]]],
        [.add(s0, m0), .add(o0, m0), .add(o1, m0), .run(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, o0 beforeTimers m0, "
        + "o0 beforeSources m0, o0 beforeWaiting m0, o1 beforeWaiting m0, "
        + "o0 afterWaiting m0, o0 exit m0, run m0 -> stopped"),
    Scenario(
      "S10", "beforeWaiting and afterWaiting are left out when the pass performed a source",
      Program(
        sources: [0], observers: [.of(.beforeWaiting, .afterWaiting)],
        [.add(s0, m0), .add(o0, m0), .signal(0), .runOnce(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, s0, run m0 -> handledSource, run m0, "
        + "run m0 -> timedOut"),
    Scenario(
      "S11", "a block that ran does not keep the loop from sleeping",
      Program(
        timers: [.at(4)], observers: [.of(.beforeWaiting, .afterWaiting)],
        [.add(t0, m0), .add(o0, m0), .perform([m0], []), .run(m0)]),
      cf:
        "run m0, b0, o0 beforeWaiting m0, +4, o0 afterWaiting m0, t0, "
        + "run m0 -> finished"),
    Scenario(
      "S11", "a block queued by a block waits until something wakes the loop",
      Program(
        timers: [.at(4), .stop(at: 6)],
        [.add(t0, m0), .add(t1, m0), .perform([m0], [.perform([m0], [])]), .run(m0)]),
      cf: "run m0, b0, +4, t0, b1, +2, t1, run m0 -> stopped",
      lull: "run m0, b0, b1, +4, t0, +2, t1, run m0 -> stopped",
      by: .pendingWorkKeepsAwake),
    Scenario(
      "S12", "a source is handled; timers, blocks, observers and wake-ups are not",
      Program(
        sources: [0], timers: [.at(2), .at(4)], observers: [.of(.entry)],
        on: [.timer(0): [[.wakeUp, .perform([m0], [])]], .timer(1): [[.signal(0)]]],
        [.add(s0, m0), .add(t0, m0), .add(t1, m0), .add(o0, m0), .runOnce(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 entry m0, +2, t0, b0, +2, t1, s0, "
        + "run m0 -> handledSource"),
    Scenario(
      "S13", "a poll is one pass, and fires what is due",
      Program(
        timers: [.at(0), .at(0), .at(1)],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .poll(m0), .poll(m0)]),
      cf: "run m0, t0, t1, run m0 -> timedOut, run m0, run m0 -> timedOut"),
    Scenario(
      "S13", "a timer that came due before the pass serves fires with the one that woke it",
      Program(
        timers: [.at(2), .at(3), .stop(at: 5)], observers: [.of(.afterWaiting, .beforeTimers)],
        on: [.observer(0): [[], [.work(1)]]],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .add(o0, m0), .run(m0)]),
      cf:
        "run m0, o0 beforeTimers m0, +2, o0 afterWaiting m0, +1, t0, t1, "
        + "o0 beforeTimers m0, +2, o0 afterWaiting m0, t2, run m0 -> stopped"),
    Scenario(
      "S13", "a wake-up and a timer that is due take two passes",
      Program(
        timers: [.at(2), .stop(at: 4)], observers: [.of(.beforeTimers, .beforeWaiting)],
        on: [.observer(0): [[], [.wakeUp, .work(2)]]],
        [.add(t0, m0), .add(t1, m0), .add(o0, m0), .run(m0)]),
      cf:
        "run m0, o0 beforeTimers m0, o0 beforeWaiting m0, +2, t0, "
        + "o0 beforeTimers m0, o0 beforeWaiting m0, o0 beforeTimers m0, "
        + "o0 beforeWaiting m0, +2, t1, run m0 -> stopped",
      lull:
        "run m0, o0 beforeTimers m0, o0 beforeWaiting m0, +2, t0, "
        + "o0 beforeTimers m0, o0 beforeWaiting m0, +2, t1, run m0 -> stopped",
      by: .passServesAll),
  ]

  static let results = [
    Scenario(
      "S16", "a mode that is empty or missing finishes at once, without any notification",
      Program(observers: [.all], [.add(o0, m0), .run(m0), .poll(m0), .run(m1)]),
      cf:
        "run m0, run m0 -> finished, run m0, run m0 -> finished, run m1, "
        + "run m1 -> finished"),
    Scenario(
      "S16", "a stop in a handled source gives handledSource if the run was to return after one",
      Program(
        sources: [0], on: [.perform(0): [[.stop]]], [.add(s0, m0), .signal(0), .runOnce(m0)]),
      cf: "s0 schedule m0, run m0, s0, run m0 -> handledSource"),
    Scenario(
      "S16", "a stop in a handled source gives stopped if the run was not to return after one",
      Program(
        sources: [0], on: [.perform(0): [[.stop]]], [.add(s0, m0), .signal(0), .run(m0)]),
      cf: "s0 schedule m0, run m0, s0, run m0 -> stopped"),
    Scenario(
      "S16", "a stop in a poll gives timedOut, and is forgotten",
      Program(
        sources: [0], timers: [.at(3)], on: [.perform(0): [[.stop]]],
        [.add(s0, m0), .add(t0, m0), .signal(0), .poll(m0), .poll(m0), .poll(m0)]),
      cf:
        "s0 schedule m0, run m0, s0, run m0 -> timedOut, run m0, "
        + "run m0 -> timedOut, run m0, run m0 -> timedOut",
      lull:
        "s0 schedule m0, run m0, s0, run m0 -> timedOut, run m0, run m0 -> stopped, "
        + "run m0, run m0 -> timedOut",
      by: .unreportedStopStays),
    Scenario(
      "S16", "a stop that a run did not report is forgotten",
      Program(
        sources: [0], timers: [.stop(at: 3)], on: [.perform(0): [[.stop]]],
        [.add(s0, m0), .add(t0, m0), .signal(0), .runOnce(m0), .run(m0)]),
      cf:
        "s0 schedule m0, run m0, s0, run m0 -> handledSource, run m0, +3, t0, "
        + "run m0 -> stopped",
      lull:
        "s0 schedule m0, run m0, s0, run m0 -> handledSource, run m0, "
        + "run m0 -> stopped",
      by: .unreportedStopStays),
    Scenario(
      "S17", "observers do not keep a mode from being empty; sources, timers and blocks do",
      Program(
        sources: [0], timers: [.at(9)], observers: [.of(.entry)],
        [.add(o0, m0), .poll(m0), .perform([m0], []), .poll(m0), .poll(m0)]
          + [.add(s0, m0), .poll(m0), .remove(s0, m0), .add(t0, m0), .poll(m0)]),
      cf:
        "run m0, run m0 -> finished, run m0, o0 entry m0, b0, run m0 -> timedOut, "
        + "run m0, run m0 -> finished, s0 schedule m0, run m0, o0 entry m0, "
        + "run m0 -> timedOut, s0 cancel m0, run m0, o0 entry m0, run m0 -> timedOut"),
    Scenario(
      "S18", "a run whose only content was one block sleeps",
      Program([.perform([m0], []), .run(m0)]),
      cf: "run m0, b0, sleeps for ever, run m0 -> stopped",
      lull: "run m0, b0, run m0 -> finished",
      by: .emptyEndsRun),
    Scenario(
      "S19", "removing or invalidating the last item in a callback ends the run",
      Program(
        sources: [0], timers: [.at(1, every: 1)],
        on: [.perform(0): [[.remove(s0, m0)]], .timer(0): [[], [.invalidate(t0)]]],
        [.add(s0, m0), .signal(0), .run(m0), .add(t0, m0), .run(m0)]),
      cf:
        "s0 schedule m0, run m0, s0, s0 cancel m0, run m0 -> finished, run m0, +1, "
        + "t0, +1, t0, run m0 -> finished"),
    Scenario(
      "S20", "a stop while the loop does not run is lost",
      Program(timers: [.at(2)], [.add(t0, m0), .stop, .run(m0)]),
      cf: "run m0, +2, t0, run m0 -> finished",
      lull: "run m0, run m0 -> stopped",
      by: .latchedStop),
    Scenario(
      "S20", "a stop in a nested run ends that one only",
      Program(
        timers: [.at(1), .stop(at: 2), .stop(at: 5)], on: [.timer(0): [[.run(m1)]]],
        [.add(t0, m0), .add(t1, m1), .add(t2, m0), .run(m0)]),
      cf:
        "run m0, +1, t0, run m1, +1, t1, run m1 -> stopped, +3, t2, "
        + "run m0 -> stopped"),
    Scenario(
      "S20", "a stop before a nested run begins ends the outer one",
      Program(
        timers: [.at(1), .stop(at: 4), .stop(at: 9)], on: [.timer(0): [[.stop, .run(m1)]]],
        [.add(t0, m0), .add(t1, m1), .add(t2, m0), .run(m0)]),
      cf: "run m0, +1, t0, run m1, +3, t1, run m1 -> stopped, run m0 -> stopped"),
    Scenario(
      "S20", "ending a nested run and the one around it takes two stops",
      Program(
        timers: [.at(1), .stop(at: 2), .at(9)], on: [.timer(0): [[.run(m1), .stop]]],
        [.add(t0, m0), .add(t1, m1), .add(t2, m0), .run(m0)]),
      cf: "run m0, +1, t0, run m1, +1, t1, run m1 -> stopped, run m0 -> stopped"),
    Scenario(
      "S22", "a wake-up before the wait ends the wait; several are one",
      Program(
        timers: [.stop(at: 5)], observers: [.all], on: [.observer(0): [[], [.wakeUp, .wakeUp]]],
        [.add(t0, m0), .add(o0, m0), .run(m0)]),
      cf:
        "run m0, o0 entry m0, o0 beforeTimers m0, o0 beforeSources m0, "
        + "o0 beforeWaiting m0, o0 afterWaiting m0, o0 beforeTimers m0, "
        + "o0 beforeSources m0, o0 beforeWaiting m0, +5, o0 afterWaiting m0, t0, "
        + "o0 exit m0, run m0 -> stopped"),
    Scenario(
      "S22", "a wake-up after the wait or outside of a run is dropped",
      Program(
        timers: [.at(2), .stop(at: 5)], observers: [.of(.beforeTimers, .afterWaiting)],
        on: [.observer(0): [[], [.wakeUp]], .timer(0): [[.wakeUp]]],
        [.add(t0, m0), .add(t1, m0), .add(o0, m0), .wakeUp, .run(m0)]),
      cf:
        "run m0, o0 beforeTimers m0, +2, o0 afterWaiting m0, t0, "
        + "o0 beforeTimers m0, +3, o0 afterWaiting m0, t1, run m0 -> stopped"),
    Scenario(
      "S23", "a nested run in a beforeWaiting observer eats the wake-up of the outer one",
      Program(
        sources: [0], timers: [.stop(at: 9)], observers: [.of(.beforeWaiting)],
        on: [.observer(0): [[.wakeUp, .poll(m1)]]],
        [.add(s0, m1), .add(t0, m0), .add(o0, m0), .run(m0)]),
      cf:
        "s0 schedule m1, run m0, o0 beforeWaiting m0, run m1, run m1 -> timedOut, "
        + "+9, t0, run m0 -> stopped",
      lull:
        "s0 schedule m1, run m0, o0 beforeWaiting m0, run m1, run m1 -> timedOut, "
        + "o0 beforeWaiting m0, +9, t0, run m0 -> stopped",
      by: .outerWakesSurvive),
    Scenario(
      "S23", "a source signalled by a beforeWaiting observer waits for the next wake-up",
      Program(
        sources: [0], timers: [.at(9)], observers: [.of(.beforeWaiting)],
        on: [.observer(0): [[.signal(0)]]],
        [.add(s0, m0), .add(t0, m0), .add(o0, m0), .runOnce(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 beforeWaiting m0, +9, t0, s0, "
        + "run m0 -> handledSource",
      lull:
        "s0 schedule m0, run m0, o0 beforeWaiting m0, s0, run m0 -> handledSource",
      by: .pendingWorkKeepsAwake),
    Scenario(
      "S23", "a source signalled by a timer is performed in the next pass",
      Program(
        sources: [0], timers: [.at(2), .at(9)], on: [.timer(0): [[.signal(0)]]],
        [.add(s0, m0), .add(t0, m0), .add(t1, m0), .runOnce(m0)]),
      cf: "s0 schedule m0, run m0, +2, t0, s0, run m0 -> handledSource"),
  ]
}
