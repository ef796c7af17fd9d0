// SPDX-License-Identifier: Apache-2.0

internal import CLull

/// The object as one of exactly that class; nil if it is of another. A comparison, where `as?` is a
/// call to the runtime.
@inlinable
@inline(__always)
func cast<Wanted: AnyObject>(_ object: AnyObject, to wanted: Wanted.Type) -> Wanted? {
  type(of: object) == wanted ? unsafe unsafeDowncast(object, to: wanted) : nil
}

/// A reference that keeps nothing alive, and costs no counting. Whoever reads it knows by other
/// means that the object lives.
@safe
@usableFromInline
package struct Unretained<Object: AnyObject> {
  @usableFromInline let reference: Unmanaged<Object>?

  init(_ object: Object?) { unsafe reference = object.map { unsafe Unmanaged.passUnretained($0) } }

  var isThere: Bool { unsafe reference != nil }

  /// The object, kept alive by whoever asks.
  package var value: Object? { unsafe reference?.takeUnretainedValue() }

  @inline(__always)
  func refers(to object: Object) -> Bool {
    unsafe reference?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
  }

  /// Has the processor fetch an object of so many bytes, up to two lines of its cache and one.
  @inline(__always)
  func prefetch(_ size: Int) {
    guard let address = unsafe reference?.toOpaque() else { return }
    unsafe lull_prefetch(address)
    unsafe lull_prefetch(address + 64)
    unsafe lull_prefetch(address + size - 1)
  }

  /// Keeps the object alive until it is released.
  @inline(__always)
  func retain() { unsafe _ = reference?.retain() }

  @inline(__always)
  func release() { unsafe reference?.release() }

  /// Does something with the object, which lives at least as long as that takes.
  @inlinable
  @inline(__always)
  func with<Result>(_ body: (Object) -> Result) -> Result? {
    guard let reference = unsafe reference else { return nil }
    return unsafe reference._withUnsafeGuaranteedRef { body($0) }
  }
}
