// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull

/// Says a line, waits until it has come back, says the next.
@MainActor
final class Client {
  private let descriptor: CInt
  private var lines: [String]
  private var received: [UInt8] = []

  static func start(at path: String, saying lines: [String]) throws {
    let client = Client(try UnixSocket.connect(to: path), lines)
    client.sayNext()
    try Loop.main.watch(client.descriptor, for: .readable) { source, _ in client.hear(source) }
  }

  private init(_ descriptor: CInt, _ lines: [String]) {
    self.descriptor = descriptor
    self.lines = lines
  }

  private func sayNext() {
    print("client: \(lines[0])")
    _ = UnixSocket.write(Array((lines[0] + "\n").utf8), to: descriptor)
  }

  private func hear(_ source: Loop.DescriptorSource) {
    received += UnixSocket.read(from: descriptor) ?? []
    guard received.last == UInt8(ascii: "\n") else { return }
    print("echo:   \(String(decoding: received.dropLast(), as: UTF8.self))")
    received = []
    lines.removeFirst()
    if lines.isEmpty {
      source.invalidate()
      close(descriptor)
    } else {
      sayNext()
    }
  }
}
