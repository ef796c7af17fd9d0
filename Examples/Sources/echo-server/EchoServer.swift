// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull

/// A server and its client, both on one loop and without a thread between them.
///
/// A `DescriptorSource` calls its handler while its descriptor is ready, in every pass, until the
/// handler has done something about it: what is not read today is reported again tomorrow. So a
/// handler may read one bufferful and return, and other descriptors get their turn.
@main
@MainActor
enum EchoServer {
  static func main() throws {
    let path = "/tmp/lull-echo-\(getpid()).socket"
    let listener = try UnixSocket.listen(at: path)
    defer {
      close(listener)
      unlink(path)
    }

    // A listening socket is readable when somebody wants to connect.
    try Loop.main.watch(listener, for: .readable) { _, _ in
      guard let descriptor = UnixSocket.accept(from: listener) else { return }
      print("server: a client is here")
      open(Connection(descriptor))
    }

    try Client.start(at: path, saying: ["hello", "is anybody there?", "goodbye"])

    // Ten seconds are for a machine that is in trouble; the client stops the loop long before.
    print("the run was \(Loop.main.run(in: .default, for: .seconds(10)))")
  }

  static func open(_ connection: Connection) {
    do {
      try connection.start()
    } catch {
      print("server: \(error)")
    }
  }
}
