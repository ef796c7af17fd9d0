// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The main loop of GLib on its default context: the real one, looked for when the command runs, so
/// that nothing is needed to build it.
@safe struct GLib: Sendable {
  static let library = "libglib-2.0.so.0"

  // As in gmain.h and glib-unix.h; a gboolean is an int.
  private typealias Address = UnsafeMutableRawPointer
  private typealias IdleCallback = @convention(c) (Address?) -> Int32
  private typealias WatchCallback = @convention(c) (Int32, UInt32, Address?) -> Int32

  private let iteration: @convention(c) (Address?, Int32) -> Int32
  private let newIdle: @convention(c) () -> Address
  private let newWatch: @convention(c) (Int32, UInt32) -> Address
  private let setIdle: @convention(c) (Address, IdleCallback, Address?, Address?) -> Void
  private let setWatch: @convention(c) (Address, WatchCallback, Address?, Address?) -> Void
  private let attach: @convention(c) (Address, Address?) -> UInt32
  private let destroy: @convention(c) (Address) -> Void
  private let unref: @convention(c) (Address) -> Void

  /// - Throws: when it is not there, in words for the table.
  init(from library: String = GLib.library) throws(Failure) {
    guard let image = unsafe dlopen(library, RTLD_NOW | RTLD_LOCAL) else {
      throw Failure(message: "\(library) is not installed")
    }
    func find<Function>(_ name: String) throws(Failure) -> Function {
      guard let address = unsafe dlsym(image, name) else {
        throw Failure(message: "\(library) has no \(name)")
      }
      return unsafe unsafeBitCast(address, to: Function.self)
    }
    unsafe iteration = try find("g_main_context_iteration")
    unsafe newIdle = try find("g_idle_source_new")
    unsafe newWatch = try find("g_unix_fd_source_new")
    unsafe setIdle = try find("g_source_set_callback")
    unsafe setWatch = try find("g_source_set_callback")
    unsafe attach = try find("g_source_attach")
    unsafe destroy = try find("g_source_destroy")
    unsafe unref = try find("g_source_unref")
  }

  /// Waits until something is ready, then dispatches what is, of the highest priority there is.
  @MainActor func iterate() { _ = iteration(nil, 1) }

  /// Calls `body` at default idle priority, when nothing else is ready, for as long as it says so.
  @MainActor func whenIdle(_ body: @escaping @MainActor () -> Bool) -> Source {
    let source = unsafe Source(self, newIdle(), body)
    unsafe setIdle(source.address!, idleCallback, source.retained(), nil)
    _ = unsafe attach(source.address!, nil)
    return source
  }

  /// Calls `body` at default priority, whenever the descriptor is readable.
  @MainActor func watch(_ descriptor: Int32, _ body: @escaping @MainActor () -> Void) -> Source {
    let source = unsafe Source(self, newWatch(descriptor, UInt32(POLLIN))) {
      body()
      return true
    }
    unsafe setWatch(source.address!, watchCallback, source.retained(), nil)
    _ = unsafe attach(source.address!, nil)
    return source
  }

  /// A source of the default context, there until it is ended.
  @safe @MainActor final class Source {
    private let glib: GLib
    fileprivate private(set) var address: UnsafeMutableRawPointer?
    private let body: @MainActor () -> Bool

    fileprivate init(
      _ glib: GLib, _ address: UnsafeMutableRawPointer, _ body: @escaping @MainActor () -> Bool
    ) {
      self.glib = glib
      unsafe self.address = address
      self.body = body
    }

    /// Itself, as what its callback is given; let go of by `end`.
    fileprivate func retained() -> UnsafeMutableRawPointer {
      unsafe Unmanaged.passRetained(self).toOpaque()
    }

    fileprivate nonisolated static func call(_ pointer: UnsafeMutableRawPointer?) -> Int32 {
      guard let pointer = unsafe pointer else { return 0 }
      let source = unsafe Unmanaged<Source>.fromOpaque(pointer).takeUnretainedValue()
      return MainActor.assumeIsolated { source.body() } ? 1 : 0
    }

    func end() {
      guard let address = unsafe address.take() else { return }
      unsafe glib.destroy(address)
      unsafe glib.unref(address)
      unsafe Unmanaged.passUnretained(self).release()
    }
  }
}

private func idleCallback(_ source: UnsafeMutableRawPointer?) -> Int32 {
  unsafe GLib.Source.call(source)
}

private func watchCallback(
  _ descriptor: Int32, _ condition: UInt32, _ source: UnsafeMutableRawPointer?
) -> Int32 {
  unsafe GLib.Source.call(source)
}
