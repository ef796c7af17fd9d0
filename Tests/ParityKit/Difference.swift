// SPDX-License-Identifier: Apache-2.0

/// What the model may do otherwise than CFRunLoop, on purpose.
///
/// With none of them the model is CFRunLoop, event by event; with all of them it is Lull.
package enum Difference: Int, CaseIterable, Sendable {
  /// Before it sleeps the loop looks once more for signalled sources and matching blocks, as an
  /// observer, a block or a script of a cancelled source may have left some. CF sleeps on them.
  case pendingWorkKeepsAwake
  /// A stop while the loop does not run ends its next run. CF drops it.
  case latchedStop
  /// A stop that a run did not report stays for the next run of the same level. CF forgets it.
  case unreportedStopStays
  /// A nested run does not eat the wake-up or the stop that was meant for the run around it.
  case outerWakesSurvive
  /// Timers with one deadline fire in the order in which they were added to the loop. CF puts a
  /// timer behind its equals whenever it is added to a mode or given a new date.
  case equalDeadlinesInAddOrder
  /// A pass serves all that is due. CF serves due timers or a wake-up, not both in one pass, and
  /// no timer that came due after the wait.
  case passServesAll
  /// A pass handled a source if any of them was performed. CF asks the last one only.
  case handledIsOr
  /// An item that an earlier callback removed from the mode is not called. CF calls a removed
  /// source or observer, and a timer that is still in some other mode.
  case removedIsNotCalled
  /// A mode that has become empty ends the run at once. CF sleeps first.
  case emptyEndsRun
  /// Nothing wakes the loop but a timer of the mode and a wake-up during this pass. CF also wakes
  /// at the date of a timer that is gone or was moved, and for a wake-up that a finished nested
  /// run left behind.
  case noStaleWake
  /// The loop always wakes for the next timer of its mode. When a timer's own callback gives it a
  /// later date, CF sets the descriptor of the mode that runs, not those of the timer's other
  /// modes; and a run that an afterWaiting observer starts in the same mode does not see the timer
  /// that woke the run around it.
  case noMissedTimer
  /// An invalid item is not among the common items, and a valid one that was added is. CF keeps an
  /// item that is invalidated while it is in no mode, and does not own to a timer in no mode.
  case commonItemsAreExact

  /// The difference's name.
  package var name: String { "\(self)" }
}
