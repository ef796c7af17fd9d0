// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull

struct Pipe: Sendable {
  let output: CInt
  let input: CInt

  init() {
    var ends: [CInt] = [-1, -1]
    precondition(unsafe pipe2(&ends, O_NONBLOCK) == 0)
    (output, input) = (ends[0], ends[1])
  }

  func write() {
    var byte: UInt8 = 0
    precondition(unsafe Glibc.write(input, &byte, 1) == 1)
  }

  func read() {
    var byte: UInt8 = 0
    precondition(unsafe Glibc.read(output, &byte, 1) == 1)
  }
}

@discardableResult
func watchPipe(_ handler: @escaping @Sendable (Pipe) -> Void = { _ in }) throws -> Pipe {
  let pipe = Pipe()
  try loop.watch(pipe.output, for: .readable) { _, _ in handler(pipe) }
  return pipe
}
