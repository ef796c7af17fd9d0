// SPDX-License-Identifier: Apache-2.0
import Glibc
import Lull

/// The loop of a stage's main thread: it calls for each frame, for each event and for the
/// hand-over, and everything a strategy does is done in it.
@MainActor protocol StageLoop {
  /// Runs until a frame says that it was the last, or the stage's time is up.
  func run(_ stage: Stage) throws(SystemError)
}

/// Ours.
struct LullStageLoop: StageLoop {
  func run(_ stage: Stage) throws(SystemError) {
    let loop = Loop.main
    let timer = loop.schedule(every: .nanoseconds(stage.period), in: .common) { _ in
      if !stage.showFrame() { loop.stop() }
    }
    defer { timer.invalidate() }
    stage.nextFrame = { timer.nextFire.nanoseconds }
    defer { stage.nextFrame = { .max } }
    let given = stage.opens(firstDue: timer.nextFire.nanoseconds)
    loop.idle.frameClock = FrameClock(following: timer)
    defer { loop.idle.frameClock = nil }

    let source = try watchInput(of: stage)
    defer { source.invalidate() }
    let starter = loop.schedule(at: Loop.Instant(nanoseconds: given), in: .common) { _ in
      stage.handOver()
    }
    defer { starter.invalidate() }
    _ = loop.run(in: .default, for: .nanoseconds(max(0, stage.deadline - monotonicNow())))
  }

  private func watchInput(of stage: Stage) throws(SystemError) -> Loop.DescriptorSource {
    do {
      return try Loop.main.watch(stage.input, for: .readable, in: .common) { _, _ in
        stage.handleInput()
      }
    } catch {
      // Only for want of descriptors can an open pipe not be watched.
      throw SystemError(code: EMFILE)
    }
  }
}
