// SPDX-License-Identifier: Apache-2.0

/// One value on the heap, reached without exclusivity checks.
///
/// State kept in class properties costs a dynamic access check at each touch: three to five times
/// the whole hop of a loop. The price of leaving it out is a rule: **no access may be held across
/// a call into user code**, which may come back and touch the same value. Copy to a local first.
@safe
struct Box<Value: ~Copyable>: ~Copyable {
  private let address: UnsafeMutablePointer<Value>

  /// On a line of the cache that nothing else lies on, if asked for: what one thread writes there
  /// does not take other things from another.
  init(_ value: consuming Value, onLineOfItsOwn isAlone: Bool = false) {
    let unit = isAlone ? 64 : MemoryLayout<Value>.alignment
    unsafe address = UnsafeMutableRawPointer.allocate(
      byteCount: (MemoryLayout<Value>.size + unit - 1) / unit * unit, alignment: unit
    ).bindMemory(to: Value.self, capacity: 1)
    unsafe address.initialize(to: value)
  }

  deinit {
    unsafe address.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(address).deallocate()
  }

  var value: Value {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address) }
    @inline(__always) nonmutating unsafeMutableAddress { unsafe address }
  }

  @inline(__always)
  var place: Place<Value> { unsafe Place(address: address) }
}

/// Where the value of a ``Box`` or ``SharedBox`` lies, for as long as that lives.
///
/// The thread sanitizer takes a change by ``Box/value`` for one of the box as well. Where other
/// threads look into the box meanwhile, as they must to find the lock that lies in it, go by this.
@safe
struct Place<Value: ~Copyable> {
  fileprivate let address: UnsafeMutablePointer<Value>

  var value: Value {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address) }
    @inline(__always) nonmutating unsafeMutableAddress { unsafe address }
  }

  @inline(__always)
  static func == (one: Place, other: Place) -> Bool { unsafe one.address == other.address }
}

/// A ``Box`` with a reference to it, under the same rule.
@usableFromInline
@safe
final class SharedBox<Value: ~Copyable>: @unchecked Sendable {  // touched by one thread
  @usableFromInline let address: UnsafeMutablePointer<Value>

  @inlinable
  init(_ value: consuming Value) {
    unsafe address = .allocate(capacity: 1)
    unsafe address.initialize(to: value)
  }

  deinit {
    unsafe address.deinitialize(count: 1)
    unsafe address.deallocate()
  }

  @inlinable
  var value: Value {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address) }
    @inline(__always) unsafeMutableAddress { unsafe address }
  }

  /// Where the value lies, for those who know that something keeps the box.
  @inline(__always)
  var place: Place<Value> { unsafe Place(address: address) }
}
