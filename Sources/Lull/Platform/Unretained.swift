// SPDX-License-Identifier: Apache-2.0

/// A reference that keeps nothing alive, and costs no counting. Whoever reads it knows by other
/// means that the object lives.
@safe
package struct Unretained<Object: AnyObject> {
  private let reference: Unmanaged<Object>?

  init(_ object: Object?) { unsafe reference = object.map { unsafe Unmanaged.passUnretained($0) } }

  var isThere: Bool { unsafe reference != nil }

  /// The object, kept alive by whoever asks.
  package var value: Object? { unsafe reference?.takeUnretainedValue() }

  @inline(__always)
  func refers(to object: Object) -> Bool {
    unsafe reference?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
  }

  /// Keeps the object alive until it is released.
  @inline(__always)
  func retain() { unsafe _ = reference?.retain() }

  @inline(__always)
  func release() { unsafe reference?.release() }

  /// Does something with the object, which lives at least as long as that takes.
  @inline(__always)
  func with<Result>(_ body: (Object) -> Result) -> Result? {
    guard let reference = unsafe reference else { return nil }
    return unsafe reference._withUnsafeGuaranteedRef { body($0) }
  }
}
