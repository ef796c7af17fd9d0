// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Stream sockets of the file system, non-blocking as a loop wants them.
enum UnixSocket {
  struct Failure: Error { let call: String, code: CInt }

  static func listen(at path: String) throws -> CInt {
    let descriptor = try make()
    try withAddress(path) { try check("bind", Glibc.bind(descriptor, $0, $1)) }
    try check("listen", Glibc.listen(descriptor, 8))
    return descriptor
  }

  static func connect(to path: String) throws -> CInt {
    let descriptor = try make()
    try withAddress(path) { try check("connect", Glibc.connect(descriptor, $0, $1)) }
    return descriptor
  }

  /// The next client; nil when there is none after all, as when it has given up.
  static func accept(from listener: CInt) -> CInt? {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else { return nil }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    return descriptor
  }

  /// What is there; nil when there is nothing now, empty at the end.
  static func read(from descriptor: CInt) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count < 0 ? nil : Array(bytes.prefix(count))
  }

  /// How much of it the socket took.
  static func write(_ bytes: [UInt8], to descriptor: CInt) -> Int {
    max(0, Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)))
  }

  private static func make() throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    try check("socket", descriptor)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    return descriptor
  }

  private static func check(_ call: String, _ result: CInt) throws {
    if result < 0 { throw Failure(call: call, code: errno) }
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void
  ) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    try withUnsafePointer(to: &address) {
      try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        try body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
