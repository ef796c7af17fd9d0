// SPDX-License-Identifier: Apache-2.0

/// One object of a key: a single piece.
///
/// It is generic, and not a closure, so that it takes one allocation; and generic by what it holds
/// as a whole, whose type it then knows without looking it up for each object.
@usableFromInline
final class KeyedObject<Payload: KeyedPayload>:
  IdleWork, @unchecked Sendable  // touched on the loop's thread
{
  /// By this name it is not nil before it is set, which would be a change to be checked.
  @usableFromInline typealias PayloadOrNone = Payload?

  @usableFromInline let ownKey: Payload.Key
  @usableFromInline var payload: PayloadOrNone

  @inlinable
  init(
    _ payload: Payload, _ loop: borrowing Loop, _ key: Payload.Key, _ options: Options,
    weight: Int, onEnd: ((End) -> Void)?
  ) {
    ownKey = key
    self.payload = payload
    super.init(loop, options, weight: weight, onEnd: onEnd)
  }

  override var key: IdleKey? { IdleKey(ownKey) }
  override var total: Int? { 1 }
  override var nextWeight: Int? { stage == .spent ? nil : Int(weight) }
  override var stopsItsKey: Bool { true }

  override func step() throws -> IdleAnswer {
    guard let payload = payload.take() else { return .stop }
    stage = .spent
    return try payload.run(ownKey)
  }

  override func free() { payload = nil }
}

/// An object, and what is to be done with it.
@usableFromInline
protocol KeyedPayload {
  associatedtype Key: Hashable & Sendable
  func run(_ key: Key) throws -> IdleAnswer
}

/// As one, so that whether it is there needs no room of its own.
@usableFromInline
struct Handing<Key: Hashable & Sendable, Object>: KeyedPayload {
  @usableFromInline let object: Object
  @usableFromInline let body: (Key, Object) throws -> IdleAnswer

  @inlinable
  init(_ object: Object, _ body: @escaping (Key, Object) throws -> IdleAnswer) {
    self.object = object
    self.body = body
  }

  @inlinable
  func run(_ key: Key) throws -> IdleAnswer { try body(key, object) }
}
