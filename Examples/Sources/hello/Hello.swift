// SPDX-License-Identifier: Apache-2.0

import Lull

/// The least there is: a loop, a timer, and a way out.
///
/// A loop runs when its own thread runs it, so the program is a plain synchronous `main` that hands
/// its thread to the loop. Whatever happens then happens in callouts, one at a time.
@main
@MainActor
enum Hello {
  static var ticks = 0

  static func main() {
    // Closures of the main loop are of the main actor: they reach `ticks` without a lock.
    Loop.main.schedule(every: .milliseconds(10)) { timer in
      ticks += 1
      print("tick \(ticks)")
      // The timer would keep its ten-millisecond grid for ever; `stop` ends the run instead. An
      // invalidated timer alone would not: the main loop waits for the main queue, which may always
      // bring something.
      if ticks == 3 { Loop.main.stop() }
    }

    print("hello")
    print("and the run was \(Loop.main.run())")
  }
}
