// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// What a `Program` cannot say: the main thread's loop and dispatch's main queue, calls from other
/// threads, and runs with a time limit. In real time, so only the order of events counts.
///
/// Each is carried out in a process of its own, by `ParityOracle` on CFRunLoop and by `ParityProbe`
/// on Lull.
package enum LiveScenario: String, CaseIterable, Sendable {
  case limits, mainIsNeverEmpty, secondaryMayBeEmpty, mainQueueBlocksAreOneSource
  case nestedRunDoesNotDrain, customModeDoesNotDrain, lateStop, stopFromElsewhere
  case performFromElsewhere, timerFromElsewhere, signalFromElsewhere, lastItemGoes, onlyABlock
  case datesDecide, silentInOtherModes

  /// Carries it out on a loop of the kind. The main thread.
  package func play<Loop: LiveLoop>(on kind: Loop.Type) -> [String] {
    let stage = Stage<Loop>()
    switch self {
    case .secondaryMayBeEmpty, .onlyABlock, .lastItemGoes:
      stage.elsewhere { act(Stage<Loop>(log: stage.log)) }
    default: act(stage)
    }
    return stage.log.events
  }

  private func act<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    switch self {
    case .limits: limits(stage)
    case .mainIsNeverEmpty, .secondaryMayBeEmpty: emptyModes(stage)
    case .mainQueueBlocksAreOneSource: mainQueueBlocks(stage)
    case .nestedRunDoesNotDrain: nestedRun(stage)
    case .customModeDoesNotDrain: customMode(stage)
    case .lateStop:
      stage.elsewhere { stage.loop.stop() }
      stage.run(.initial)
    case .stopFromElsewhere:
      stage.after(0.02) { stage.loop.stop() }
      stage.run(.initial, seconds: 60)
    case .performFromElsewhere: performFromElsewhere(stage)
    case .timerFromElsewhere:
      stage.after(0.02) {
        stage.loop.addTimer(after: 0.01, to: .initial) {
          stage.log.add("timer")
          stage.loop.stop()
        }
      }
      stage.run(.initial, seconds: 60)
    case .signalFromElsewhere:
      let source = stage.loop.addSource(to: .initial) { stage.log.add("source") }
      stage.after(0.02) { source.signal() }
      stage.run(.initial, seconds: 60, once: true)
    case .lastItemGoes:
      let source = stage.loop.addSource(to: .initial) {}
      stage.after(0.02) { source.invalidate() }
      stage.run(.initial, seconds: 0.5)
    case .onlyABlock:
      stage.loop.perform(in: .initial) { stage.log.add("block") }
      stage.run(.initial)
    case .datesDecide: datesDecide(stage)
    case .silentInOtherModes:
      stage.loop.addTimer(after: 0.01, to: .initial) { stage.log.add("timer") }
      stage.loop.addTimer(after: 60, to: Mode(1)) {}
      stage.run(Mode(1))
      stage.run(.initial)
    }
  }

  // MARK: Longer ones

  private func limits<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    let source = stage.loop.addSource(to: Mode(1)) { stage.log.add("source") }
    stage.run(Mode(1))
    source.signal()
    stage.run(Mode(1))
    source.signal()
    stage.run(Mode(1), seconds: 60, once: true)
    stage.after(0.02) { stage.loop.stop() }
    stage.run(Mode(1), seconds: 60)
    source.invalidate()
    stage.run(Mode(1), seconds: 60)
  }

  private func emptyModes<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    stage.run(.initial)
    stage.run(Mode(1))
  }

  private func mainQueueBlocks<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    for number in 1...5 { DispatchQueue.main.async { stage.log.add("main \(number)") } }
    stage.run(.initial, seconds: 60, once: true)
  }

  private func nestedRun<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    DispatchQueue.main.async {
      stage.log.add("main 1")
      stage.run(.initial, seconds: 60)
      // With something in the mode it runs, and still does not drain the queue.
      let source = stage.loop.addSource(to: .initial) {}
      stage.run(.initial)
      source.invalidate()
    }
    DispatchQueue.main.async { stage.log.add("main 2") }
    stage.run(.initial, seconds: 60, once: true)
  }

  private func customMode<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    DispatchQueue.main.async { stage.log.add("main") }
    let source = stage.loop.addSource(to: Mode(1)) {}
    stage.run(Mode(1))
    source.invalidate()
    stage.run(.initial, seconds: 60, once: true)
  }

  private func performFromElsewhere<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    stage.after(0.02) { stage.loop.perform(in: .initial) { stage.log.add("block") } }
    stage.loop.addTimer(after: 0.5, to: .initial) {
      stage.log.add("timer")
      stage.loop.stop()
    }
    stage.run(.initial, seconds: 60)
  }

  private func datesDecide<Loop: LiveLoop>(_ stage: Stage<Loop>) {
    for number in [3, 1, 4, 2] {
      stage.loop.addTimer(after: 0.01 * Double(number), to: .initial) {
        stage.log.add("timer \(number)")
        if number == 4 { stage.loop.stop() }
      }
    }
    stage.run(.initial, seconds: 60)
  }
}

/// Where a scenario is played: a loop, a log, and other threads.
private struct Stage<Loop: LiveLoop>: Sendable {
  let loop = Loop.current
  let log: Log

  init(log: Log = Log()) { self.log = log }

  func run(_ mode: Mode, seconds: Double = 0.05, once: Bool = false) {
    log.add("run \(mode)")
    log.add("run \(mode) -> \(loop.run(mode, seconds: seconds, once: once).name)")
  }

  /// Does something on another thread, and waits until it has been done.
  func elsewhere(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      body()
      done.signal()
    }
    done.wait()
  }

  /// Does something on another thread when some seconds have passed.
  func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
  }
}

private final class Log: Sendable {
  private let list = Mutex<[String]>([])
  func add(_ event: String) { list.withLock { $0.append(event) } }
  var events: [String] { list.withLock { $0 } }
}
