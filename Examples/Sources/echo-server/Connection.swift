// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull

/// One client, as the server sees it: sends back what comes.
@MainActor
final class Connection {
  private let descriptor: CInt
  /// What was read and could not be sent back yet.
  private var pending: [UInt8] = []

  init(_ descriptor: CInt) { self.descriptor = descriptor }

  /// The source holds the connection, and the loop the source: nobody else has to.
  func start() throws(Loop.DescriptorError) {
    try Loop.main.watch(descriptor, for: .readable) { source, ready in
      if ready.contains(.readable), !self.receive() { return self.end(source) }
      self.send()
      // Writing is asked about only while there is something to write: a socket that has nothing to
      // send is nearly always writable, and would call us in every pass.
      source.interest = self.pending.isEmpty ? .readable : [.readable, .writable]
    }
  }

  /// Reads once; false when the other side has closed.
  private func receive() -> Bool {
    guard let bytes = UnixSocket.read(from: descriptor) else { return true }
    pending += bytes
    return !bytes.isEmpty
  }

  private func send() {
    pending.removeFirst(UnixSocket.write(pending, to: descriptor))
  }

  /// The source goes before its descriptor is closed: the number may soon be another file's.
  private func end(_ source: Loop.DescriptorSource) {
    source.invalidate()
    close(descriptor)
    print("server: the client has gone")
    Loop.main.stop()
  }
}
