// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation

/// As little as a program with a loop can do.
@main
struct Hello {
  static func main() {
    let timer = Timer(timeInterval: 0, repeats: false) { _ in
      CFRunLoopStop(CFRunLoopGetCurrent())
    }
    RunLoop.current.add(timer, forMode: .default)
    CFRunLoopRun()
  }
}
