// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting

/// A value that the closures of one test share: virtual time lets one thread run at a time.
final class Shared<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

/// A moment of virtual time, in milliseconds from the start of the test.
func at(_ milliseconds: Double) -> Loop.Instant {
  Loop.Instant(nanoseconds: Int64((milliseconds * 1_000_000).rounded()))
}

/// Milliseconds and their fractions, such as half of one.
func milliseconds(_ count: Double) -> Duration {
  .nanoseconds(Int64((count * 1_000_000).rounded()))
}

extension VirtualTime {
  /// Now, in milliseconds from the start of the test.
  var milliseconds: Double { Double(now.nanoseconds) / 1_000_000 }
}

extension Loop {
  /// A timer far enough away to keep a mode from being empty, and no test from ending.
  @discardableResult
  func keepAlive(in mode: Mode = .default) -> Timer {
    schedule(after: .seconds(1_000_000), in: mode) { _ in }
  }

  /// Draws every activity of a mode into a timeline.
  @discardableResult
  func drawActivities(in mode: Mode = .default, _ timeline: Timeline) -> Observer {
    observe(.all, in: mode) { _, activity in timeline.mark("\(activity)") }
  }
}

extension Loop.Mode {
  static let first = Loop.Mode("first")
  static let second = Loop.Mode("second")
}

/// A payload, and whether it still lives.
final class Watched<Object: AnyObject>: @unchecked Sendable {
  private weak var object: Object?
  init(_ object: Object?) { self.object = object }
  var isAlive: Bool { object != nil }
}
