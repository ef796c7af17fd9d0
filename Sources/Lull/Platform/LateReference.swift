// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A reference to an object that is made late, if at all: one word, which any thread may read.
@safe
struct LateReference<Object: AnyObject & Sendable>: ~Copyable, Sendable {
  private let word = Atomic<UInt>(0)

  deinit {
    guard let address = unsafe UnsafeRawPointer(bitPattern: word.load(ordering: .acquiring)) else {
      return
    }
    unsafe Unmanaged<Object>.fromOpaque(address).release()
  }

  var value: Object? {
    guard let address = unsafe UnsafeRawPointer(bitPattern: word.load(ordering: .acquiring)) else {
      return nil
    }
    return unsafe Unmanaged<Object>.fromOpaque(address).takeUnretainedValue()
  }

  /// The object, made by `make` if there is none; of several that are made at a time one stays.
  func made(by make: () -> Object) -> Object {
    if let value { return value }
    let made = make()
    let address = unsafe UInt(bitPattern: Unmanaged.passRetained(made).toOpaque())
    if word.compareExchange(expected: 0, desired: address, ordering: .acquiringAndReleasing)
      .exchanged
    {
      return made
    }
    unsafe Unmanaged.passUnretained(made).release()
    return value!
  }
}
