// SPDX-License-Identifier: Apache-2.0

/// One object of a key: a single piece.
///
/// It is generic, and not a closure, so that it takes one allocation.
@usableFromInline
final class KeyedObject<Key: Hashable & Sendable, Object>:
  IdleWork, @unchecked Sendable  // touched on the loop's thread
{
  /// As one, so that whether it is there needs no room of its own.
  @usableFromInline
  struct Payload {
    @usableFromInline let object: Object
    @usableFromInline let body: (Key, Object) throws -> IdleAnswer

    @inlinable
    init(_ object: Object, _ body: @escaping (Key, Object) throws -> IdleAnswer) {
      self.object = object
      self.body = body
    }
  }

  @usableFromInline let ownKey: Key
  @usableFromInline var payload: Payload?

  @inlinable
  init(
    _ object: Object, _ loop: Loop, _ key: Key, _ options: Options, weight: Int,
    onEnd: ((End) -> Void)?, _ body: @escaping (Key, Object) throws -> IdleAnswer
  ) {
    ownKey = key
    payload = Payload(object, body)
    super.init(loop, options, weight: weight, onEnd: onEnd)
  }

  override var key: IdleKey? { IdleKey(ownKey) }
  override var total: Int? { 1 }
  override var nextWeight: Int? { stage == .spent ? nil : Int(weight) }
  override var stopsItsKey: Bool { true }

  override func step() throws -> IdleAnswer {
    guard let payload = payload.take() else { return .stop }
    stage = .spent
    return try payload.body(ownKey, payload.object)
  }

  override func free() { payload = nil }
}
