// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A child process of this package, with a socket for its standard input and output.
///
/// The real CFRunLoop lives in one of its own: it brings Foundation and its own idea of the C
/// library's clock, and neither belongs in a test of Lull.
final class ChildProcess {
  private let pid: pid_t
  private let socket: CInt
  private var received: [UInt8] = []
  private var next = 0

  /// Starts an executable that was built beside the tests.
  init(_ name: String, _ arguments: [String] = []) {
    let path = ChildProcess.folder + name
    let isThere = unsafe access(path, X_OK) == 0
    precondition(isThere, "no \(path); `swift build --build-tests` makes it")
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let made = unsafe socketpair(AF_UNIX, type, 0, &ends)
    precondition(made == 0, "no socket for a child process: errno \(errno)")

    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for standard in [STDIN_FILENO, STDOUT_FILENO] {
      unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], standard)
    }
    var words: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map {
      unsafe strdup($0)
    }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    var child = pid_t()
    let code = unsafe posix_spawn(&child, path, &actions, nil, words, environ)
    precondition(code == 0, "\(path) does not start: errno \(code)")
    close(ends[1])
    (pid, socket) = (child, ends[0])
  }

  deinit {
    close(socket)
    waitpid(pid, nil, 0)
  }

  /// Sends a line. Its length and that of all lines not yet answered must fit a socket's buffer.
  func send(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          socket, bytes.baseAddress! + sent, bytes.count - sent, CInt(MSG_NOSIGNAL))
      }
      // A child that has died is noticed by whoever waits for its answer.
      guard count > 0 else { return }
      sent += count
    }
  }

  /// The next line it says, or nil when it has ended.
  func readLine() -> String? {
    var searched = next
    while true {
      if let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { next = end + 1 }
        return String(decoding: received[next..<end], as: UTF8.self)
      }
      received.removeSubrange(..<next)
      next = 0
      searched = received.count
      var part = [UInt8](repeating: 0, count: 1 << 16)
      let count = unsafe part.withUnsafeMutableBytes { part in
        unsafe read(socket, part.baseAddress, part.count)
      }
      guard count > 0 else { return nil }
      received += part.prefix(count)
    }
  }

  /// Everything it says until it ends.
  func readLines() -> [String] {
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    return lines
  }

  /// Where this test executable lies, with a slash at the end.
  private static let folder: String = {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &path, path.count)
    let bytes = path.prefix(count).map { UInt8(bitPattern: $0) }
    let end = bytes.lastIndex(of: UInt8(ascii: "/"))!
    return String(decoding: bytes[...end], as: UTF8.self)
  }()
}

/// The real CFRunLoop, in a process of its own.
final class OracleProcess {
  private let child: ChildProcess
  private var unanswered: [Int] = []

  /// An oracle in virtual time, or in real time.
  init(isReal: Bool = false) {
    child = ChildProcess("ParityOracle", isReal ? ["--real"] : [])
  }

  /// Whether more programs can be sent before an answer is taken.
  var hasRoom: Bool { unanswered.reduce(0, +) < 1 << 15 }

  /// Sends a program.
  func send(_ program: String) {
    unanswered.append(program.utf8.count)
    child.send(program)
  }

  /// The trace of the earliest program whose trace was not taken yet, its events joined by " | ".
  func takeTrace() -> String {
    unanswered.removeFirst()
    return child.readLine() ?? "the oracle died"
  }

  /// What one program does.
  func trace(of program: String) -> String {
    send(program)
    return takeTrace()
  }
}
