// SPDX-License-Identifier: Apache-2.0

/// The main loop of GLib, with frames, input and the hand-over at default priority.
///
/// Frames come from a descriptor: as of GLib 2.74 a loop's own timers are waited for in whole
/// milliseconds, and frames would be late for that alone.
@MainActor final class GLibStageLoop: StageLoop {
  private let glib: GLib
  private var isOver = false

  init(_ glib: GLib) { self.glib = glib }

  func run(_ stage: Stage) throws(SystemError) {
    let firstDue = monotonicNow() + stage.period
    let given = stage.opens(firstDue: firstDue)
    let frames = try Descriptor(readableAt: firstDue, every: stage.period)
    let starter = try Descriptor(readableAt: given)
    let limit = try Descriptor(readableAt: stage.deadline)
    let sources = [
      glib.watch(frames.number) { [self, number = frames.number] in
        Descriptor.passMoment(of: number)
        if !stage.showFrame() { isOver = true }
      },
      glib.watch(stage.input) { stage.handleInput() },
      glib.watch(starter.number) { [number = starter.number] in
        Descriptor.passMoment(of: number)
        stage.handOver()
      },
      glib.watch(limit.number) { [self] in isOver = true },
    ]
    isOver = false
    while !isOver { glib.iterate() }
    for source in sources { source.end() }
  }
}
