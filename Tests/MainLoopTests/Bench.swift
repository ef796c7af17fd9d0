// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull
import XCTest

/// Runs a test's body on the main actor, where XCTest has it already.
func onMain(_ body: @MainActor (Bench) throws -> Void) rethrows {
  try MainActor.assumeIsolated { try body(Bench()) }
}

/// State of the main actor, for its closures to touch.
@MainActor final class Bench {
  var marks: [String] = []

  /// A mode of one test alone, since the main loop is the same for all.
  let mode = Loop.Mode("test.\(Bench.number)")
  private static var modes = 0
  private static var number: Int {
    modes += 1
    return modes
  }

  /// Notes a call, which the compiler takes to be on the main actor and this makes sure of.
  func mark(_ text: String) {
    MainActor.preconditionIsolated()
    XCTAssert(Loop.main.loop.isCurrent)
    marks.append(text)
  }

  /// A run that ends by itself only if something is lost.
  func run(_ mode: Loop.Mode = .default, once: Bool = false) -> Loop.RunResult {
    Loop.main.run(in: mode, for: .seconds(30), returnAfterSourceHandled: once)
  }

  /// One pass that does not wait.
  func poll(_ mode: Loop.Mode) { _ = Loop.main.run(in: mode, for: .zero) }
}

/// A pipe that has something to read from the start.
final class ReadyPipe {
  let reader: CInt
  private let writer: CInt

  init() {
    var ends: [CInt] = [-1, -1]
    let code = unsafe pipe2(&ends, O_CLOEXEC | O_NONBLOCK)
    precondition(code == 0, "pipe2: \(errno)")
    (reader, writer) = (ends[0], ends[1])
    let written = unsafe write(writer, "x", 1)
    precondition(written == 1)
  }

  deinit {
    close(reader)
    close(writer)
  }
}
