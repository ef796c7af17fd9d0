// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import ParityKit

/// Lull's loop of the calling thread, on virtual time or, without one, on the kernel's.
final class LullLoop: RunLoopUnderTest {
  private let loop: Loop
  private let time: VirtualTime?
  private let start: Loop.Instant
  private let modes: [Loop.Mode]
  private var sources: [Loop.Source] = []
  private var timers: [Loop.Timer] = []
  private var observers: [Loop.Observer] = []

  private init(_ loop: Loop, _ time: VirtualTime?, _ program: Program, _ callbacks: any Callbacks) {
    self.loop = loop
    self.time = time
    start = time == nil ? loop.now : Loop.Instant(nanoseconds: 0)
    let modes = [.default] + (1..<max(2, program.modeCount)).map { Loop.Mode("m\($0)") }
    self.modes = modes
    time?.whenAsleepForEver { callbacks.sleepsForEver() }
    for (index, order) in program.sources.enumerated() {
      sources.append(
        Loop.Source(
          order: order,
          schedule: { _, _, mode in
            callbacks.scheduled(source: index, in: LullLoop.mode(mode, among: modes))
          },
          cancel: { _, _, mode in
            callbacks.cancelled(source: index, in: LullLoop.mode(mode, among: modes))
          }
        ) { _ in callbacks.performed(source: index) })
    }
    for (index, timer) in program.timers.enumerated() {
      timers.append(
        Loop.Timer(
          at: instant(timer.first),
          every: timer.interval > 0 ? ticks(timer.interval) : nil
        ) { _ in callbacks.fired(timer: index) })
    }
    for (index, observer) in program.observers.enumerated() {
      observers.append(
        Loop.Observer(
          Loop.Activities(rawValue: UInt32(observer.activities)), order: observer.order,
          repeats: observer.repeats
        ) { _, activity in
          callbacks.observed(observer: index, Activity(rawValue: Int(activity.rawValue))!)
        })
    }
  }

  /// Carries out a program on a new thread.
  static func trace(of program: Program) -> (trace: [String], coverage: Coverage) {
    withVirtualLoop { loop, time in
      Interpreter.run(program, on: { LullLoop(loop, time, $0, $1) })
    }
  }

  /// Carries out a program on a new thread, on the kernel's time.
  static func realTrace(of program: Program) -> [String] {
    onNewThread {
      Interpreter.run(program, on: { LullLoop(Loop.current, nil, $0, $1) }).trace
    }
  }

  // MARK: Names and dates

  private static func mode(_ mode: Loop.Mode, among modes: [Loop.Mode]) -> Mode {
    modes.firstIndex(of: mode).map { Mode($0) } ?? .common
  }

  private func name(_ mode: Mode) -> Loop.Mode { mode == .common ? .common : modes[mode.index] }

  private func instant(_ tick: Int) -> Loop.Instant {
    start.advanced(by: ticks(tick))
  }

  private func ticks(_ count: Int) -> Duration { .nanoseconds(count * Program.tickNanoseconds) }

  private func tick(_ instant: Loop.Instant) -> Int {
    let (tick, rest) = (instant.nanoseconds - start.nanoseconds).quotientAndRemainder(
      dividingBy: Int64(Program.tickNanoseconds))
    precondition(rest == 0, "a date that no program asked for: \(instant)")
    return Int(tick)
  }

  private func item(_ item: Item) -> Loop.Item {
    switch item {
    case .source(let index): sources[index]
    case .timer(let index): timers[index]
    case .observer(let index): observers[index]
    }
  }

  // MARK: Operations

  var tick: Int {
    if let time { return tick(time.now) }
    return Int(start.duration(to: loop.now) / ticks(1))
  }

  func work(ticks count: Int) {
    if let time { return time.advance(by: ticks(count)) }
    let end = loop.now.advanced(by: ticks(count))
    while loop.now < end {}
  }

  func add(_ item: Item, to mode: Mode) {
    switch item {
    case .source(let index): loop.add(sources[index], to: name(mode))
    case .timer(let index): loop.add(timers[index], to: name(mode))
    case .observer(let index): loop.add(observers[index], to: name(mode))
    }
  }

  func remove(_ item: Item, from mode: Mode) { loop.remove(self.item(item), from: name(mode)) }

  func invalidate(_ item: Item) { self.item(item).invalidate() }

  func signal(source: Int) { sources[source].signal() }

  func wakeUp() { loop.wakeUp() }

  func stop() { loop.stop() }

  func setNextFire(timer: Int, tick: Int) { timers[timer].nextFire = instant(tick) }

  func perform(in modes: [Mode], _ body: @escaping @Sendable () -> Void) {
    loop.perform(in: modes.map(name), body)
  }

  func run(in mode: Mode, polls: Bool, returnsAfterSource: Bool) -> Outcome {
    let result =
      polls
      ? loop.run(in: name(mode), for: .zero, returnAfterSourceHandled: returnsAfterSource)
      : loop.run(in: name(mode), returnAfterSourceHandled: returnsAfterSource)
    switch result {
    case .finished: return .finished
    case .stopped: return .stopped
    case .timedOut: return .timedOut
    case .handledSource: return .handledSource
    }
  }

  func addCommonMode(_ mode: Mode) { loop.addCommonMode(name(mode)) }

  func contains(_ item: Item, in mode: Mode) -> Bool {
    loop.contains(self.item(item), in: name(mode))
  }

  func isValid(_ item: Item) -> Bool { self.item(item).isValid }

  func nextFire(ofTimer timer: Int) -> Int? {
    timers[timer].isValid ? tick(timers[timer].nextFire) : nil
  }

  func nextFire(in mode: Mode) -> Int? { loop.nextFire(in: name(mode)).map(tick) }

  var currentMode: Mode? { loop.currentMode.map { LullLoop.mode($0, among: modes) } }

  var allModes: [Mode] { loop.modes.map { LullLoop.mode($0, among: modes) } }
}
