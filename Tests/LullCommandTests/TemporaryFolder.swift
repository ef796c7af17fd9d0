// SPDX-License-Identifier: Apache-2.0
import Glibc

@testable import LullCommand

/// A real folder, and what a test puts into it, gone when the test is over.
final class TemporaryFolder {
  let path: String
  private var names: [String] = []

  init() throws {
    path = "/tmp/lull-test-\(getpid())-\(UInt64.random(in: .min ... .max))"
    try check(unsafe mkdir(path, 0o755))
  }

  deinit {
    for name in names.reversed() { _ = unsafe remove("\(path)/\(name)") }
    _ = unsafe rmdir(path)
  }

  func write(_ text: String, to name: String) throws {
    try Descriptor(writing: made(name)).write(text)
  }

  func takeAway(_ name: String) throws { try check(unsafe unlink("\(path)/\(name)")) }
  func makeFolder(_ name: String) throws { try check(unsafe mkdir(made(name), 0o755)) }
  func makeFIFO(_ name: String) throws { try check(unsafe mkfifo(made(name), 0o644)) }
  func makeLink(_ name: String, to target: String) throws {
    try check(unsafe symlink(target, made(name)))
  }
  func makeAlias(_ name: String, of other: String) throws {
    try check(unsafe link("\(path)/\(other)", made(name)))
  }

  private func made(_ name: String) -> String {
    names.append(name)
    return "\(path)/\(name)"
  }

  private func check(_ result: Int32) throws {
    if result != 0 { throw SystemError.last }
  }
}
