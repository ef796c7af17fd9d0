// SPDX-License-Identifier: Apache-2.0

import ParityKit

/// When timers fire, and what their dates say.
extension Scenario {
  static let timers = [
    Scenario(
      "S37", "a timer with no interval or a negative one fires once",
      Program(timers: [.at(1), .at(2, every: -1)], [.add(t0, m0), .add(t1, m0), .run(m0)]),
      cf: "run m0, +1, t0, +1, t1, run m0 -> finished"),
    Scenario(
      "S39", "a past date is due at once, and the grid starts at the timer's creation",
      Program(
        timers: [.at(-3, every: 2), .stop(at: 5)],
        [.nextFire(0), .add(t0, m0), .add(t1, m0), .nextFire(0), .run(m0), .nextFire(0)]),
      cf:
        "date t0 = -3, date t0 = -3, run m0, t0, +2, t0, +2, t0, +1, t1, "
        + "run m0 -> stopped, date t0 = 6"),
    Scenario(
      "S40", "timers fire by date, whatever the order they were added in",
      Program(
        timers: [.at(3), .at(1), .at(2)], [.add(t0, m0), .add(t1, m0), .add(t2, m0), .run(m0)]),
      cf: "run m0, +1, t1, +1, t2, +1, t0, run m0 -> finished"),
    Scenario(
      "S40", "a timer that an earlier one invalidated or put off does not fire",
      Program(
        timers: [.at(1), .at(1), .at(1)],
        on: [.timer(0): [[.invalidate(t1), .setNextFire(2, 3)]]],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .run(m0)]),
      cf: "run m0, +1, t0, +3, t2, run m0 -> finished"),
    Scenario(
      "S40", "a timer that an earlier one took out of this mode, but not of all, still fires",
      Program(
        timers: [.at(1), .at(1), .at(3)], on: [.timer(0): [[.remove(t1, m0)]]],
        [.add(t0, m0), .add(t1, m0), .add(t1, m1), .add(t2, m0), .run(m0), .isValid(t1)]),
      cf: "run m0, +1, t0, t1, +2, t2, run m0 -> finished, valid t1 = false",
      lull: "run m0, +1, t0, +2, t2, run m0 -> finished, valid t1 = true",
      by: .removedIsNotCalled),
    Scenario(
      "S40", "a timer that an earlier one took out and added again still fires",
      Program(
        timers: [.at(1), .at(1), .at(3)], observers: [.of(.beforeTimers)],
        on: [.timer(0): [[.remove(t1, m0), .add(t1, m0)]]],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .add(o0, m0), .run(m0)]),
      cf:
        "run m0, o0 beforeTimers m0, +1, t0, t1, o0 beforeTimers m0, +2, t2, "
        + "run m0 -> finished"),
    Scenario(
      "S40", "a past timer that a callback adds fires in the next pass",
      Program(
        timers: [.at(2), .at(0)], observers: [.of(.beforeTimers)],
        on: [.timer(0): [[.add(t1, m0)]]], [.add(t0, m0), .add(o0, m0), .run(m0)]),
      cf:
        "run m0, o0 beforeTimers m0, +2, t0, o0 beforeTimers m0, t1, "
        + "run m0 -> finished"),
    Scenario(
      "S41", "equal dates fire as they were last added to a mode or given a date",
      Program(
        timers: [.at(2), .at(2), .at(9)],
        [.add(t0, m1), .add(t1, m0), .add(t0, m0), .run(m0)]),
      cf: "run m0, +2, t1, t0, run m0 -> finished",
      lull: "run m0, +2, t0, t1, run m0 -> finished",
      by: .equalDeadlinesInAddOrder),
    Scenario(
      "S41", "equal dates fire in the order in which the timers were added",
      Program(
        timers: [.at(2), .at(2), .at(2)], [.add(t2, m0), .add(t0, m0), .add(t1, m0), .run(m0)]),
      cf: "run m0, +2, t2, t0, t1, run m0 -> finished"),
    Scenario(
      "S42", "dates missed by a long callback coalesce into none, and the grid stays",
      Program(
        timers: [.at(2, every: 3), .stop(at: 18)], on: [.timer(0): [[.work(7)]]],
        [.add(t0, m0), .add(t1, m0), .run(m0)]),
      cf: "run m0, +2, t0, +9, t0, +3, t0, +3, t0, +1, t1, run m0 -> stopped"),
    Scenario(
      "S42", "a callback that ends on a date of the grid is followed by the next date",
      Program(
        timers: [.at(2, every: 3), .stop(at: 12)], on: [.timer(0): [[.work(6)]]],
        [.add(t0, m0), .add(t1, m0), .run(m0)]),
      cf: "run m0, +2, t0, +9, t0, +1, t1, run m0 -> stopped"),
    Scenario(
      "S45", "a timer in its callback does not fire in a nested run; others do",
      Program(
        timers: [.at(1, every: 2), .at(2), .init(first: 4, interval: 4, stops: true)],
        on: [.timer(0): [[.run(m0)]]],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .run(m0), .nextFire(0)]),
      cf:
        "run m0, +1, t0, run m0, +1, t1, +2, t2, run m0 -> stopped, +1, t0, +2, t0, +1, t2, "
        + "run m0 -> stopped, date t0 = 9"),
    Scenario(
      "S47", "a timer in two modes has one schedule, and fires in whichever runs",
      Program(
        timers: [.at(1, every: 2), .stop(at: 4), .stop(at: 8)],
        [.add(t0, m0), .add(t0, m1), .add(t1, m0), .add(t2, m1), .run(m0), .run(m1)]),
      cf:
        "run m0, +1, t0, +2, t0, +1, t1, run m0 -> stopped, run m1, +1, t0, +2, "
        + "t0, +1, t2, run m1 -> stopped"),
    Scenario(
      "S47", "a timer removed from all modes stays valid and can be added again",
      Program(
        timers: [.at(2)],
        [.add(t0, m0), .remove(t0, m0), .isValid(t0), .contains(t0, m0), .run(m0)]
          + [.work(5), .add(t0, m1), .run(m1), .isValid(t0)]),
      cf:
        "valid t0 = true, contains t0 m0 = false, run m0, run m0 -> finished, +5, "
        + "run m1, t0, run m1 -> finished, valid t0 = false"),
    Scenario(
      "S50", "the loop does not wake at the date of a timer that is gone if another timer waits",
      Program(
        timers: [.at(2), .stop(at: 5)], observers: [.of(.beforeWaiting, .afterWaiting)],
        [.add(t1, m0), .add(t0, m0), .add(o0, m0), .invalidate(t0), .run(m0)]),
      cf:
        "run m0, o0 beforeWaiting m0, +5, o0 afterWaiting m0, t1, run m0 -> stopped"),
    Scenario(
      "S50", "the loop wakes once more at the date of the only timer, when it is gone",
      Program(
        sources: [0], timers: [.at(2)], observers: [.of(.beforeWaiting, .afterWaiting)],
        [.add(s0, m0), .add(t0, m0), .add(o0, m0), .invalidate(t0), .run(m0)]),
      cf:
        "s0 schedule m0, run m0, o0 beforeWaiting m0, +2, o0 afterWaiting m0, "
        + "o0 beforeWaiting m0, sleeps for ever, o0 afterWaiting m0, "
        + "run m0 -> stopped",
      lull:
        "s0 schedule m0, run m0, o0 beforeWaiting m0, sleeps for ever, "
        + "o0 afterWaiting m0, run m0 -> stopped",
      by: .noStaleWake),
    Scenario(
      "S84", "a timer of the default mode is silent in another; due, it fires once on return",
      Program(
        timers: [.at(1, every: 2), .stop(at: 6), .stop(at: 10)],
        [.add(t0, m0), .add(t1, m1), .add(t2, m0), .run(m1), .run(m0)]),
      cf:
        "run m1, +6, t1, run m1 -> stopped, run m0, t0, +1, t0, +2, t0, +1, t2, "
        + "run m0 -> stopped"),
    Scenario(
      "S84", "a timer that put itself off does not wake its other modes",
      Program(
        timers: [.at(1, every: 1), .at(9)],
        on: [.timer(0): [[.setNextFire(0, 3)], [.invalidate(t0)]]],
        [.add(t0, m0), .add(t0, m1), .add(t1, m1), .poll(m0), .work(1), .poll(m0), .run(m1)]),
      cf:
        "run m0, run m0 -> timedOut, +1, run m0, t0, run m0 -> timedOut, run m1, "
        + "+8, t0, t1, run m1 -> finished",
      lull:
        "run m0, run m0 -> timedOut, +1, run m0, t0, run m0 -> timedOut, run m1, "
        + "+3, t0, +5, t1, run m1 -> finished",
      by: .noMissedTimer),
  ]

  static let dates = [
    Scenario(
      "S43", "in its callback a timer shows the date being served, and is valid and there",
      Program(
        timers: [.at(2), .at(3, every: 2), .stop(at: 6)],
        on: [
          .timer(0): [[.nextFire(0), .isValid(t0), .contains(t0, m0)]],
          .timer(1): [[.work(1), .nextFire(1), .isValid(t1), .contains(t1, m0)]],
        ],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .run(m0), .isValid(t0), .nextFire(1)]),
      cf:
        "run m0, +2, t0, date t0 = 2, valid t0 = true, contains t0 m0 = true, +1, "
        + "t1, +1, date t1 = 3, valid t1 = true, contains t1 m0 = true, +1, t1, +1, "
        + "t2, run m0 -> stopped, valid t0 = false, date t1 = 7"),
    Scenario(
      "S44", "a later date set in the callback counts, and the grid goes on from it",
      Program(
        timers: [.at(1, every: 2), .stop(at: 9)], on: [.timer(0): [[.setNextFire(0, 3)]]],
        [.add(t0, m0), .add(t1, m0), .run(m0)]),
      cf: "run m0, +1, t0, +3, t0, +2, t0, +2, t0, +1, t1, run m0 -> stopped"),
    Scenario(
      "S44", "a past date set in the callback after some work fires in the next pass",
      Program(
        timers: [.at(1, every: 5), .stop(at: 9)],
        on: [.timer(0): [[.work(1), .setNextFire(0, -1)]]],
        [.add(t0, m0), .add(t1, m0), .run(m0)]),
      cf: "run m0, +1, t0, +1, t0, +5, t0, +2, t1, run m0 -> stopped"),
    Scenario(
      "S44", "a date set in the callback of a timer that fires once has no effect",
      Program(
        timers: [.at(1), .at(9)], on: [.timer(0): [[.setNextFire(0, 3)]]],
        [.add(t0, m0), .add(t1, m0), .run(m0), .isValid(t0)]),
      cf: "run m0, +1, t0, +8, t1, run m0 -> finished, valid t0 = false"),
    Scenario(
      "S44", "a date set on a waiting timer re-arms it, earlier or later",
      Program(
        timers: [.at(8), .at(2), .at(4)],
        [.add(t0, m0), .add(t1, m0), .add(t2, m0), .setNextFire(0, 1), .setNextFire(1, 9)]
          + [.nextFire(0), .nextFire(1), .run(m0)]),
      cf:
        "date t0 = 1, date t1 = 9, run m0, +1, t0, +3, t2, +5, t1, "
        + "run m0 -> finished"),
    Scenario(
      "S48", "an invalid timer has no date, takes none, and is nowhere; doing it again is nothing",
      Program(
        timers: [.at(3)],
        [.add(t0, m0), .add(t0, m1), .invalidate(t0), .invalidate(t0), .setNextFire(0, 1)]
          + [.nextFire(0), .isValid(t0), .contains(t0, m0), .contains(t0, m1), .add(t0, m0)]
          + [.run(m0)]),
      cf:
        "date t0 = none, valid t0 = false, contains t0 m0 = false, "
        + "contains t0 m1 = false, run m0, run m0 -> finished"),
    Scenario(
      "S51", "a mode's next date is that of its earliest timer, one that fires included",
      Program(
        timers: [.at(2, every: 4), .at(3)],
        on: [.timer(0): [[.nextFireIn(m0)]], .timer(1): [[.stop]]],
        [.nextFireIn(m0), .add(t1, m0), .nextFireIn(m0), .add(t0, m0), .nextFireIn(m0), .run(m0)]
          + [.nextFireIn(m0), .nextFireIn(m1)]),
      cf:
        "next m0 = none, next m0 = 3, next m0 = 2, run m0, +2, t0, next m0 = 2, "
        + "+1, t1, run m0 -> stopped, next m0 = 6, next m1 = none"),
  ]
}
