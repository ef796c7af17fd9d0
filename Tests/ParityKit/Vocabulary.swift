// SPDX-License-Identifier: Apache-2.0

/// A run loop mode of a program, by number.
///
/// Numbers stand for names so that a program says nothing about how a run loop names its modes.
package struct Mode: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// 0 is the default mode, 1 and up are custom modes, -1 is the common pseudo-mode.
  package let index: Int

  /// The mode with a number.
  package init(_ index: Int) { self.index = index }

  /// The default mode, which is common from the start.
  package static let initial = Mode(0)

  /// The pseudo-mode that stands for every common mode.
  package static let common = Mode(-1)

  package static func < (a: Mode, b: Mode) -> Bool { a.index < b.index }

  package var description: String { index < 0 ? "common" : "m\(index)" }
}

/// One of a program's items, by kind and number. Items exist from the start of the program.
package enum Item: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// A source that is signalled by hand.
  case source(Int)
  /// A timer.
  case timer(Int)
  /// An observer.
  case observer(Int)

  package var description: String {
    switch self {
    case .source(let index): "s\(index)"
    case .timer(let index): "t\(index)"
    case .observer(let index): "o\(index)"
    }
  }
}

/// What an observer is told, with CFRunLoop's values.
package enum Activity: Int, CaseIterable, Sendable {
  case entry = 1
  case beforeTimers = 2
  case beforeSources = 4
  case beforeWaiting = 32
  case afterWaiting = 64
  case exit = 128

  /// The activity's name. (Reflection would find it, but slowly, and every event asks.)
  package var name: String {
    switch self {
    case .entry: "entry"
    case .beforeTimers: "beforeTimers"
    case .beforeSources: "beforeSources"
    case .beforeWaiting: "beforeWaiting"
    case .afterWaiting: "afterWaiting"
    case .exit: "exit"
    }
  }
}

/// Why a run came back.
package enum Outcome: Sendable {
  case finished, stopped, timedOut, handledSource

  /// The outcome's name.
  package var name: String {
    switch self {
    case .finished: "finished"
    case .stopped: "stopped"
    case .timedOut: "timedOut"
    case .handledSource: "handledSource"
    }
  }
}

/// Where an operation is carried out. Coverage is counted by it.
package enum Context: Hashable, Sendable, CustomStringConvertible {
  /// On the thread, outside of any run; in a callback of a source or a timer; in a block.
  case top, perform, schedule, cancel, timer, block
  /// In an observer's callback.
  case observer(Activity)

  /// Every context there is, in a fixed order.
  package static let all: [Context] =
    [.top, .perform, .schedule, .cancel, .timer, .block] + Activity.allCases.map(Context.observer)

  package var description: String {
    switch self {
    case .top: "top"
    case .perform: "perform"
    case .schedule: "schedule"
    case .cancel: "cancel"
    case .timer: "timer"
    case .block: "block"
    case .observer(let activity): activity.name
    }
  }
}

/// One step of a program.
package indirect enum Op: Hashable, Sendable {
  /// Adds an item to a mode or to the common pseudo-mode.
  case add(Item, Mode)
  /// Takes an item out of a mode or of the common pseudo-mode.
  case remove(Item, Mode)
  /// Invalidates an item.
  case invalidate(Item)
  /// Signals a source, and does not wake the loop.
  case signal(Int)
  /// Wakes the loop up.
  case wakeUp
  /// Stops the innermost run, if there is one.
  case stop
  /// Sets a timer's next fire date to some ticks from now; they may be negative.
  case setNextFire(Int, Int)
  /// Queues a block for some modes, the common pseudo-mode among them perhaps.
  case perform([Mode], [Op])
  /// Runs the loop: one poll or without limit, and perhaps no longer than one handled source.
  case run(Mode, polls: Bool, once: Bool)
  /// Lets virtual time pass, as a callback does that works.
  case work(Int)
  /// Makes a mode common.
  case addCommonMode(Mode)
  /// Asks, and traces, whether an item is in a mode or among the common items.
  case contains(Item, Mode)
  /// Asks whether an item is valid.
  case isValid(Item)
  /// Asks for a timer's next fire date.
  case nextFire(Int)
  /// Asks for the next fire date of a mode's timers.
  case nextFireIn(Mode)
  /// Asks for the mode of the innermost run.
  case currentMode
  /// Asks which modes exist.
  case allModes

  /// The operation's name without its arguments, as the text form and coverage use it.
  package var name: String {
    switch self {
    case .add: "add"
    case .remove: "remove"
    case .invalidate: "invalidate"
    case .signal: "signal"
    case .wakeUp: "wake"
    case .stop: "stop"
    case .setNextFire: "set"
    case .perform: "perform"
    case .run: "run"
    case .work: "work"
    case .addCommonMode: "common"
    case .contains: "contains"
    case .isValid: "valid"
    case .nextFire: "date"
    case .nextFireIn: "next"
    case .currentMode: "mode"
    case .allModes: "modes"
    }
  }

  /// Every name, in a fixed order.
  package static let names = [
    "add", "remove", "invalidate", "signal", "wake", "stop", "set", "perform", "run", "work",
    "common", "contains", "valid", "date", "next", "mode", "modes",
  ]
}
