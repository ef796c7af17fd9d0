// SPDX-License-Identifier: Apache-2.0

/// One object of a key: a single piece.
final class KeyedObject<Key: Hashable & Sendable, Object>: IdleWork, @unchecked Sendable {
  /// As one, so that whether it is there needs no room of its own.
  private struct Payload {
    let object: Object
    let body: (Key, Object) throws -> IdleAnswer
  }

  private let ownKey: Key
  private var payload: Payload?

  init(
    _ object: Object, _ loop: Loop, key: Key, _ priority: Priority, maximumWait: Duration,
    weight: Int, onEnd: ((End) -> Void)?, _ body: @escaping (Key, Object) throws -> IdleAnswer
  ) {
    ownKey = key
    payload = Payload(object: object, body: body)
    super.init(loop, priority, maximumWait: maximumWait, weight: weight, onEnd: onEnd)
  }

  override var key: IdleKey? { IdleKey(ownKey) }

  override func hasKey(of other: IdleWork) -> Bool {
    // Of the same class, as work of one key is as a rule: keys compare without a table.
    (other as? KeyedObject<Key, Object>)?.ownKey == ownKey
  }

  override var done: Int { endedAfterPiece ? 1 : 0 }
  override var total: Int? { 1 }
  override var nextWeight: Int? { payload == nil ? nil : Int(weight) }
  override var stopsItsKey: Bool { true }

  override func step() throws -> IdleAnswer {
    guard let payload = payload.take() else { return .stop }
    return try payload.body(ownKey, payload.object)
  }

  override func free() { payload = nil }
}
