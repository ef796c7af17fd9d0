// SPDX-License-Identifier: Apache-2.0

import Lull

/// The timer that stops while the user scrolls, and the one that does not.
///
/// While the user drags, a toolkit runs the loop in its event-tracking mode. A timer that was added
/// to the default mode only is then silent, however often it is due: its mode does not run. One
/// that was added to the *common* modes goes on, because event tracking is one of them.
///
/// Nothing piles up meanwhile: back in the default mode, the silent timer fires once for all the
/// dates it has missed and keeps to its grid.
@main
@MainActor
enum EventTracking {
  static var clock = 0
  static var spinner = 0

  static func main() {
    Loop.main.schedule(every: .milliseconds(2)) { _ in clock += 1 }
    let animation = Loop.main.schedule(every: .milliseconds(10), in: .common) { _ in
      spinner += 1
      if spinner == 5 { Loop.main.stop() }
    }

    // The user puts a finger down. A toolkit would stop when it is lifted, we after five turns.
    let result = Loop.main.run(in: .eventTracking)
    print("tracking ended: \(result)")
    print("the timer of the common modes fired \(spinner) times")
    print("the timer of the default mode fired \(clock) times")

    // The finger is up.
    animation.invalidate()
    _ = Loop.main.run(in: .default, for: .zero)
    print("back in the default mode: \(clock) for all that was missed")
  }
}
