// SPDX-License-Identifier: Apache-2.0

/// Waits for one loop: a back end reports, and decides nothing.
///
/// All members but `wake()` and `prepare(_:)` are called on the loop's thread. A back end may
/// report readiness that has gone; it must never lose any, and a `wake()` that comes before a wait
/// ends it. Descriptors are level-triggered.
package protocol Poller: AnyObject, Sendable {
  /// Now, on the clock that stands still in suspend.
  var now: Int64 { get }

  /// Now or a little before, at a fifth of the price: it moves in ticks of at most 10 ms.
  var coarseNow: Int64 { get }

  /// Now, on the clock that counts suspend.
  var continuousNow: Int64 { get }

  /// How often others were given the processor while the loop's thread could have gone on.
  var preemptions: Int { get }

  /// Finds out whether a descriptor can be watched, before it is handed to the loop's thread.
  /// Any thread.
  func prepare(_ descriptor: CInt) throws(SystemError)

  /// Watches a descriptor, or changes what it is watched for; `token` comes back with its events.
  /// With no interest it is not watched, not even for hang-up.
  func watch(_ descriptor: CInt, for interest: Loop.Readiness, token: UInt64) throws(SystemError)

  /// Stops watching a descriptor, which may be closed already.
  func unwatch(_ descriptor: CInt)

  /// Forgets what the kernel knows and tells it again all that is watched: it may report for ever a
  /// file that was closed here before it was taken out, and is open elsewhere.
  func startAfresh()

  /// Ends waits at `deadline` on the clock that counts suspend; `Int64.max` for none.
  func setContinuousDeadline(_ deadline: Int64)

  /// Returns at readiness, at `deadline` (`Int64.min`: at once, `Int64.max`: no limit), or for a
  /// `wake()`.
  func wait(until deadline: Int64, into ready: inout [ReadyEvent])

  /// Ends a wait. Any thread, and signal handlers; many calls may end just one.
  func wake()

  /// A descriptor for whoever waits in the loop's stead: readable when a wait would end, with the
  /// deadline of `arm`. Always the same, except in a child made by fork.
  func turnDescriptor() throws(SystemError) -> CInt

  /// Begins what would be a wait until `deadline`, for whoever waits in the loop's stead.
  func arm(until deadline: Int64)

  /// The outermost run ends: what was set for the thread meanwhile is set back.
  func runEnds()
}

/// A descriptor that turned ready.
package struct ReadyEvent: Sendable {
  /// What `watch` was given.
  package let token: UInt64
  package let readiness: Loop.Readiness

  package init(token: UInt64, readiness: Loop.Readiness) {
    self.token = token
    self.readiness = readiness
  }
}
