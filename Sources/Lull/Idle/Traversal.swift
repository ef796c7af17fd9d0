// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The elements of a sequence, one to a piece. Index and element always agree, whatever the handler
/// does to what it walks: the sequence is iterated once and never indexed.
final class Traversal<Elements: Sequence>: IdleWork, @unchecked Sendable {
  private let ownKey: IdleKey?
  private let number: Int
  /// Until it begins: making an iterator may run any code, and that belongs to the loop's thread.
  private var elements: Elements?
  private var iterator: Elements.Iterator?
  private var element: Elements.Element?
  private var elementWeight = 1
  private let index = Atomic<Int>(0)
  private let size: Int?
  private var weigh: ((Elements.Element) -> Int)?
  private var body: ((Int, Elements.Element) throws -> IdleAnswer)?

  /// A traversal with a key, or with a number instead.
  init(
    _ elements: Elements, _ loop: Loop, key: IdleKey?, number: Int, _ priority: Priority,
    maximumWait: Duration, weight: ((Elements.Element) -> Int)?, onEnd: ((End) -> Void)?,
    _ body: @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) {
    ownKey = key
    self.number = number
    size = (elements as? any Collection)?.count
    self.elements = elements
    weigh = weight
    self.body = body
    super.init(loop, priority, maximumWait: maximumWait, onEnd: onEnd)
  }

  override var key: IdleKey? { ownKey }
  override var keyName: String { ownKey.map { "\($0)" } ?? "traversal \(number)" }
  override var done: Int { index.load(ordering: .relaxed) }
  override var total: Int? { size }
  override var isWeighted: Bool { weigh != nil }

  override func begin() {
    iterator = elements.take()?.makeIterator()
    advance()
  }

  private func advance() {
    element = iterator?.next()
    if let weigh, let element { elementWeight = weigh(element) }
  }

  override var nextWeight: Int? { element == nil ? nil : elementWeight }

  override func step() throws -> IdleAnswer {
    guard let element = element.take(), let body else { return .stop }
    let index = index.load(ordering: .relaxed)
    // Counted, whether it throws or not.
    defer { self.index.store(index + 1, ordering: .relaxed) }
    let answer = try body(index, element)
    if answer == .continue { advance() }
    return answer
  }

  override func free() { (elements, iterator, element, weigh, body) = (nil, nil, nil, nil, nil) }
}
