// SPDX-License-Identifier: Apache-2.0

/// What happens to one run loop on one thread, as a value: it can be made up at random, printed,
/// sent through a pipe, shrunk, and carried out on any run loop that is a `RunLoopUnderTest`.
///
/// Time is counted in ticks of 1/64 s from the start of the program. That is exact in binary
/// floating point, in nanoseconds, and in the microseconds of `gettimeofday`.
package struct Program: Hashable, Sendable {
  /// How long a tick is. All times of a program are multiples of it.
  package static let tickNanoseconds = 15_625_000

  /// The number of real modes: the default mode and the custom ones.
  package var modeCount = 3

  /// The sources, each by its order.
  package var sources: [Int] = []

  /// The timers, made at tick 0.
  package var timers: [TimerSpec] = []

  /// The observers.
  package var observers: [ObserverSpec] = []

  /// What callbacks do: for each invocation, in turn, a list of operations; afterwards nothing.
  package var scripts: [Trigger: [[Op]]] = [:]

  /// What the thread does, from start to end.
  package var top: [Op] = []

  /// A program that does nothing.
  package init() {}

  /// A timer.
  package struct TimerSpec: Hashable, Sendable {
    /// The tick of the first fire date; it may be negative, which is in the past.
    package var first: Int
    /// Ticks between fire dates; 0 or less for a timer that fires once.
    package var interval: Int
    /// Whether every callback ends by stopping the loop. Such a timer in every mode is what makes
    /// any program end.
    package var stops: Bool

    /// A timer with a first fire date and an interval.
    package init(first: Int, interval: Int, stops: Bool = false) {
      (self.first, self.interval, self.stops) = (first, interval, stops)
    }
  }

  /// An observer.
  package struct ObserverSpec: Hashable, Sendable {
    /// The activities it is told of: an OR of raw values of `Activity`.
    package var activities: Int
    /// Lower comes first.
    package var order: Int
    /// Whether it lives on after its first callback.
    package var repeats: Bool

    /// An observer of some activities.
    package init(activities: Int, order: Int, repeats: Bool) {
      (self.activities, self.order, self.repeats) = (activities, order, repeats)
    }
  }

  /// A kind of callback of one item.
  package enum Trigger: Hashable, Comparable, Sendable {
    /// A source is performed.
    case perform(Int)
    /// A source was added to a mode.
    case schedule(Int)
    /// A source was removed from a mode.
    case cancel(Int)
    /// A timer fires.
    case timer(Int)
    /// An observer is told of any activity.
    case observer(Int)
  }
}
