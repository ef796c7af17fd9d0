// SPDX-License-Identifier: Apache-2.0

import Foundation

/// As little as a program with a loop can do.
@main
struct Hello {
  static func main() {
    let timer = Timer(timeInterval: 0, repeats: false) { _ in }
    RunLoop.current.add(timer, forMode: .default)
    _ = RunLoop.current.run(mode: .default, before: .distantFuture)
  }
}
