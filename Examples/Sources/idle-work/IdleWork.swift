// SPDX-License-Identifier: Apache-2.0

import Lull

/// An import that may only run on the main thread, beside an animation that may not stutter.
///
/// The model belongs to the main actor and the views watch it, so its rows have to be made there:
/// each takes about a millisecond, and there are three hundred. Done in one go the picture would
/// freeze for a third of a second; one row each pass, and every frame would be late by a row. Here
/// a row is made only when nothing else waits and what rows are known to take still fits before the
/// next frame.
@main
@MainActor
enum IdleImport {
  static let count = 300
  static let period = Duration.nanoseconds(16_666_667)

  static var rows: [Int] = []
  static var frames = 0
  static var worst = Duration.zero

  static func main() {
    // `nextFire` shows the date being served while the handler runs.
    let frameTimer = Loop.main.schedule(every: period, in: .common) { timer in
      frames += 1
      worst = max(worst, timer.nextFire.duration(to: Loop.main.now))
    }
    Loop.main.idle.frameClock = FrameClock(following: frameTimer)

    let work = Loop.main.idle.forEach(
      0..<count,
      onEnd: { end in
        print("the import ended: \(end)")
        Loop.main.stop()
      },
      { _, record in
        rows.append(makeRow(record))
        return .continue
      })

    print("queued: \(work.progress.done) of \(work.progress.total ?? 0) rows are made")
    _ = Loop.main.run()
    print("\(rows.count) rows, in order: \(rows == Array(0..<count))")
    print("the picture went on meanwhile: \(frames > 10)")
    print("# \(frames) frames, the latest of them by \(worst)")
  }

  /// A millisecond of work.
  static func makeRow(_ record: Int) -> Int {
    let end = Loop.Instant.now.advanced(by: .milliseconds(1))
    while Loop.Instant.now < end {}
    return record
  }
}
