// SPDX-License-Identifier: Apache-2.0

/// Values by descriptor: a list, since the kernel gives out the lowest number that is free. O(1).
///
/// Only for descriptors that are known to be open, lest a number out of the air make it long.
struct DescriptorMap<Value>: ~Copyable {
  private let none: Value
  private var values = Slab<Value>()

  /// With a value that stands for none.
  init(none: Value) { self.none = none }

  /// Whether it has room for a descriptor already.
  func hasRoom(for descriptor: CInt) -> Bool { descriptor >= 0 && descriptor < values.count }

  /// One more than the last descriptor that it has room for.
  var end: CInt { CInt(values.count) }

  subscript(descriptor: CInt) -> Value {
    @inline(__always) get { hasRoom(for: descriptor) ? values[Int(descriptor)] : none }
    set {
      if !hasRoom(for: descriptor) { makeRoom(for: Int(descriptor)) }
      values[Int(descriptor)] = newValue
    }
  }

  private mutating func makeRoom(for descriptor: Int) {
    precondition(descriptor >= 0, "a descriptor below zero is never open")
    // Twice as many, from a thousand on an eighth more. Smaller steps leave small pieces behind, of
    // which malloc keeps some.
    let more = values.count < 1_024 ? max(64, values.count) : values.count / 8
    values.extend(to: max(descriptor + 1, values.count + more), with: none)
  }
}
