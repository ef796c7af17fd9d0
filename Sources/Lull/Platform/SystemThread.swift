// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc

/// A thread of the system's own. Whoever has it joins or detaches it, once.
struct SystemThread: Sendable {
  private let handle: pthread_t

  /// Starts `body` on a new thread.
  ///
  /// - Parameter stackSize: In bytes, at least what the system demands; nil for its own choice.
  /// - Throws: what `pthread_create` said, as a rule `EAGAIN`: no room for a thread or its stack.
  init(name: String, stackSize: Int?, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var attributes = pthread_attr_t()
    try succeed("pthread_attr_init") { unsafe pthread_attr_init(&attributes) }
    defer { unsafe pthread_attr_destroy(&attributes) }
    if let stackSize {
      try succeed("pthread_attr_setstacksize") {
        unsafe pthread_attr_setstacksize(&attributes, stackSize)
      }
    }
    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
    var handle = pthread_t()
    do {
      try succeed("pthread_create") {
        unsafe pthread_create(&handle, &attributes, threadBegins, start.toOpaque())
      }
    } catch {
      unsafe start.release()
      throw error
    }
    self.handle = handle
  }

  /// Waits until the thread has ended, its loop and all.
  func join() {
    let code = pthread_join(handle, nil)
    precondition(code == 0, "a thread cannot wait for its own end; join it from another")
  }

  /// Lets the thread end by itself.
  func detach() { pthread_detach(handle) }

  /// What the kernel makes of a name: its first 15 bytes, of whole characters.
  static func name(cut name: String) -> String {
    var kept = String.UnicodeScalarView()
    var length = 0
    for scalar in name.unicodeScalars.prefix(while: { $0.value != 0 }) {
      length += scalar.utf8.count
      guard length <= 15 else { break }
      kept.append(scalar)
    }
    return String(kept)
  }

  fileprivate final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void
    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}

/// Makes a call that returns its error, as those of pthreads do.
private func succeed(_ call: StaticString, _ body: () -> CInt) throws(SystemError) {
  let code = body()
  if code != 0 { throw SystemError(code: code, call: "\(call)") }
}

/// A top-level function, since C callbacks may not inherit isolation.
private func threadBegins(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let start = unsafe Unmanaged<SystemThread.Start>.fromOpaque(argument!).takeRetainedValue()
  unsafe lull_name_thread(start.name)
  start.body()
  return nil
}
