// SPDX-License-Identifier: Apache-2.0

/// The rule of GLib's main loop ("The Main Event Loop" in its reference, glib/gmain.c), played by
/// GLib itself: an idle source of priority `G_PRIORITY_DEFAULT_IDLE` is called, for a piece each
/// time, when the poll finds nothing ready of a higher priority, such as frames and input have.
///
/// So the kernel is asked before each piece, and nobody knows of time or of frames to come.
struct GLibIdle: Strategy {
  static let called = "glib-idle"
  let name = called
  let summary = "GLib itself: an idle source, when nothing else is ready"
  let glib: GLib

  @MainActor var loop: any StageLoop { GLibStageLoop(glib) }

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let source = glib.whenIdle { stage.runNextPiece() }
    return { source.end() }
  }
}
