// SPDX-License-Identifier: Apache-2.0

/// A reference that keeps nothing alive, and costs no counting. Whoever reads it knows by other
/// means that the object lives.
@safe
struct Unretained<Object: AnyObject> {
  private unowned(unsafe) let object: Object?

  init(_ object: Object?) { unsafe self.object = object }

  @inline(__always)
  var value: Object? { unsafe object }
}
