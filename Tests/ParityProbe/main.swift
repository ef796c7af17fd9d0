// SPDX-License-Identifier: Apache-2.0

import Lull
import ParityKit

// Plays one `LiveScenario` on Lull, on the main thread, and prints its events, one a line.

guard let name = CommandLine.arguments.dropFirst().first,
  let scenario = LiveScenario(rawValue: name)
else { fatalError("usage: ParityProbe SCENARIO") }
for event in scenario.play(on: LullLiveLoop.self) { print(event) }

/// Lull's loop of a real thread.
private struct LullLiveLoop: LiveLoop {
  let loop: Loop

  static var current: LullLiveLoop { LullLiveLoop(loop: .current) }

  func run(_ mode: Mode, seconds: Double, once: Bool) -> Outcome {
    switch loop.run(in: name(mode), for: .seconds(seconds), returnAfterSourceHandled: once) {
    case .finished: .finished
    case .stopped: .stopped
    case .timedOut: .timedOut
    case .handledSource: .handledSource
    }
  }

  func stop() { loop.stop() }

  func perform(in mode: Mode, _ body: @escaping @Sendable () -> Void) {
    loop.perform(in: name(mode), body)
  }

  func addTimer(after seconds: Double, to mode: Mode, _ body: @escaping @Sendable () -> Void) {
    loop.schedule(after: .seconds(seconds), in: name(mode)) { _ in body() }
  }

  func addSource(to mode: Mode, _ body: @escaping @Sendable () -> Void) -> any LiveSource {
    let source = Loop.Source { _ in body() }
    loop.add(source, to: name(mode))
    return LullLiveSource(source: source)
  }

  private func name(_ mode: Mode) -> Loop.Mode { mode == .initial ? .default : Loop.Mode("custom") }
}

private struct LullLiveSource: LiveSource {
  let source: Loop.Source
  func signal() { source.signal() }
  func invalidate() { source.invalidate() }
}
