// SPDX-License-Identifier: Apache-2.0

/// A run loop on which programs are carried out. To compare one more run loop, conform to this.
///
/// A conforming object is one thread's loop in virtual time, made fresh for one program, together
/// with the program's items. It is made inside a call of `Interpreter.run(_:budget:on:finish:)`:
///
/// - Make every item at once, in no mode: sources, timers and observers as the program specifies.
///   Their callbacks call the `Callbacks` they were given, and nothing else.
/// - Every requirement is the plain operation of the run loop. Nothing is logged, counted or
///   limited here: `Interpreter` does that.
/// - All is called on one thread; so must be the callbacks.
/// - When the loop would sleep and there is nothing that could ever wake it, call
///   `Callbacks.sleepsForEver()` from where it would sleep. That stops the loop as another thread
///   would. (A program made with `alwaysStops` never gets Lull there, though it may get CF
///   there: see `Difference.noMissedTimer`.)
package protocol RunLoopUnderTest: AnyObject, SendableMetatype {
  /// Virtual time, in whole ticks since the program began.
  var tick: Int { get }

  /// Lets time pass without returning to the loop, as a callback does that takes long.
  func work(ticks: Int)

  /// Adds an item to a mode or to the common pseudo-mode.
  func add(_ item: Item, to mode: Mode)

  /// Takes an item out of a mode or of the common pseudo-mode.
  func remove(_ item: Item, from mode: Mode)

  /// Invalidates an item.
  func invalidate(_ item: Item)

  /// Signals a source, without waking the loop beyond what signalling itself does.
  func signal(source: Int)

  /// Wakes the loop up.
  func wakeUp()

  /// Stops the loop.
  func stop()

  /// Sets a timer's next fire date, which may lie in the past.
  func setNextFire(timer: Int, tick: Int)

  /// Queues a block for one or more modes, the common pseudo-mode among them perhaps.
  func perform(in modes: [Mode], _ body: @escaping @Sendable () -> Void)

  /// Runs the loop in a mode: with a limit of zero, or with none.
  func run(in mode: Mode, polls: Bool, returnsAfterSource: Bool) -> Outcome

  /// Makes a mode common. Items are pulled in in the order in which they were added to the
  /// pseudo-mode; where a run loop leaves that order to chance, the conforming type mends it.
  func addCommonMode(_ mode: Mode)

  /// Whether an item is in a mode or among the common items.
  func contains(_ item: Item, in mode: Mode) -> Bool

  /// Whether an item is valid.
  func isValid(_ item: Item) -> Bool

  /// A timer's next fire date, or nil when there is none.
  func nextFire(ofTimer timer: Int) -> Int?

  /// The next fire date of a mode's timers, or nil when there is none.
  func nextFire(in mode: Mode) -> Int?

  /// The mode of the innermost run.
  var currentMode: Mode? { get }

  /// The modes that exist, in any order.
  var allModes: [Mode] { get }
}

/// Whom a run loop under test tells of its callbacks. `Interpreter` is the one that listens.
///
/// It is Sendable only so that closures that must be may hold it: the guard is that everything
/// happens on the program's one thread.
package protocol Callbacks: AnyObject, Sendable {
  /// A signalled source is performed.
  func performed(source: Int)
  /// A source was added to a real mode.
  func scheduled(source: Int, in mode: Mode)
  /// A source was removed from a real mode.
  func cancelled(source: Int, in mode: Mode)
  /// A timer fires.
  func fired(timer: Int)
  /// An observer is told of an activity.
  func observed(observer: Int, _ activity: Activity)
  /// The loop would sleep and nothing will ever wake it.
  func sleepsForEver()
}
