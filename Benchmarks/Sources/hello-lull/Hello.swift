// SPDX-License-Identifier: Apache-2.0

import Lull

/// As little as a program with a loop can do.
@main
struct Hello {
  static func main() {
    let loop = Loop.current
    loop.schedule(after: .zero) { _ in loop.stop() }
    loop.run()
  }
}
