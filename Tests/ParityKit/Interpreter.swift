// SPDX-License-Identifier: Apache-2.0

/// Carries out a program on a run loop and writes down what happens.
///
/// It owns all that is the program's and not the run loop's: how often each callback was invoked,
/// the trace, how deep runs may nest, and the budget that makes every program end.
///
/// The trace is a list of events, each beginning with the tick it happened at. What a run loop may
/// do in any order (the several callbacks of sources when an item enters or leaves all common
/// modes, when a mode becomes common, and when a source is invalidated) is collected, put in order,
/// and only then traced and followed by its scripts.
///
/// @unchecked Sendable because `Callbacks` asks for it: it is confined to the program's thread.
package final class Interpreter<Loop: RunLoopUnderTest>: Callbacks, @unchecked Sendable {
  /// What has happened.
  package private(set) var trace: [String] = []

  /// How often each operation was carried out in each context.
  package private(set) var coverage = Coverage()

  private let program: Program
  private let budget: Int
  private var loop: Loop!
  private var invocations: [Program.Trigger: Int] = [:]
  private var blocksQueued = 0
  private var depth = 0
  private var ended = false
  private var collected: [(source: Int, mode: Mode, isSchedule: Bool)]?

  private init(_ program: Program, budget: Int) {
    self.program = program
    self.budget = budget
  }

  /// Carries out a program to its end, on the calling thread.
  ///
  /// - Parameters:
  ///   - budget: after so many events callbacks do nothing but stop the loop, and the thread does
  ///     nothing more.
  ///   - make: makes the run loop, with the program's items, in virtual time at tick 0.
  ///   - finish: is given the run loop after the last event; callbacks are ignored by then.
  package static func run(
    _ program: Program, budget: Int = 120, on make: (Program, any Callbacks) -> Loop,
    finish: (Loop) -> Void = { _ in }
  ) -> (trace: [String], coverage: Coverage) {
    let interpreter = Interpreter(program, budget: budget)
    interpreter.loop = make(program, interpreter)
    for op in program.top where !interpreter.isSpent { interpreter.carryOut(op, in: .top) }
    interpreter.log("end")
    interpreter.ended = true
    finish(interpreter.loop)
    interpreter.loop = nil
    return (interpreter.trace, interpreter.coverage)
  }

  private var isSpent: Bool { trace.count >= budget }

  private func log(_ event: String) { trace.append(String(loop.tick) + " " + event) }

  // MARK: Callbacks

  package func performed(source: Int) {
    callback("s\(source)", .perform(source), in: .perform)
  }

  package func scheduled(source: Int, in mode: Mode) {
    if collected != nil {
      collected?.append((source, mode, true))
    } else {
      callback("s\(source) schedule \(mode)", .schedule(source), in: .schedule)
    }
  }

  package func cancelled(source: Int, in mode: Mode) {
    if collected != nil {
      collected?.append((source, mode, false))
    } else {
      callback("s\(source) cancel \(mode)", .cancel(source), in: .cancel)
    }
  }

  package func fired(timer: Int) {
    callback("t\(timer)", .timer(timer), in: .timer)
    if !ended && program.timers[timer].stops { loop.stop() }
  }

  package func observed(observer: Int, _ activity: Activity) {
    guard !ended else { return }
    let mode = loop.currentMode?.description ?? "none"
    callback("o\(observer) \(activity.name) \(mode)", .observer(observer), in: .observer(activity))
  }

  package func sleepsForEver() {
    log("sleeps for ever")
    loop.stop()
  }

  private func callback(_ event: String, _ trigger: Program.Trigger, in context: Context) {
    guard !ended else { return }
    log(event)
    let invocation = invocations[trigger, default: 0]
    invocations[trigger] = invocation + 1
    guard let script = program.scripts[trigger], invocation < script.count else {
      if isSpent { loop.stop() }
      return
    }
    carryOut(script[invocation], in: context)
  }

  // MARK: Operations

  private func carryOut(_ ops: [Op], in context: Context) {
    for op in ops where !isSpent { carryOut(op, in: context) }
    if isSpent { loop.stop() }
  }

  private func carryOut(_ op: Op, in context: Context) {
    coverage.count(op, in: context)
    switch op {
    case .add(let item, let mode):
      collecting(if: mode == .common) { loop.add(item, to: mode) }
    case .remove(let item, let mode):
      collecting(if: mode == .common) { loop.remove(item, from: mode) }
    case .invalidate(let item): collecting(if: true) { loop.invalidate(item) }
    case .signal(let source): loop.signal(source: source)
    case .wakeUp: loop.wakeUp()
    case .stop: loop.stop()
    case .setNextFire(let timer, let ticks):
      loop.setNextFire(timer: timer, tick: loop.tick + ticks)
    case .perform(let modes, let body): queue(body, in: modes)
    case .run(let mode, let polls, let once): run(mode, polls, once)
    case .work(let ticks): loop.work(ticks: ticks)
    case .addCommonMode(let mode): collecting(if: true) { loop.addCommonMode(mode) }
    case .contains(let item, let mode):
      log("contains \(item) \(mode) = \(loop.contains(item, in: mode))")
    case .isValid(let item): log("valid \(item) = \(loop.isValid(item))")
    case .nextFire(let timer): log("date t\(timer) = \(text(loop.nextFire(ofTimer: timer)))")
    case .nextFireIn(let mode): log("next \(mode) = \(text(loop.nextFire(in: mode)))")
    case .currentMode: log("mode = \(loop.currentMode?.description ?? "none")")
    case .allModes:
      log("modes = \(loop.allModes.sorted().map(\.description).joined(separator: " "))")
    }
  }

  private func text(_ tick: Int?) -> String { tick.map { "\($0)" } ?? "none" }

  private func queue(_ body: [Op], in modes: [Mode]) {
    let number = blocksQueued
    blocksQueued += 1
    loop.perform(in: modes) { [unowned self] in
      guard !ended else { return }
      log("b\(number)")
      carryOut(body, in: .block)
    }
  }

  private func run(_ mode: Mode, _ polls: Bool, _ once: Bool) {
    guard depth < 3 else { return log("too deep") }
    log("run \(mode)")
    depth += 1
    let outcome = loop.run(in: mode, polls: polls, returnsAfterSource: once)
    depth -= 1
    log("run \(mode) -> \(outcome.name)")
  }

  /// Carries out what may call back for several modes or sources in any order.
  private func collecting(if many: Bool, _ operation: () -> Void) {
    guard many else { return operation() }
    collected = []
    operation()
    let calls = (collected ?? []).sorted { ($0.source, $0.mode) < ($1.source, $1.mode) }
    collected = nil
    for call in calls {
      if call.isSchedule {
        scheduled(source: call.source, in: call.mode)
      } else {
        cancelled(source: call.source, in: call.mode)
      }
    }
  }
}
