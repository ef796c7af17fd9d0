// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The elements of a sequence, one to a piece.
@usableFromInline
final class Traversal: IdleWork, @unchecked Sendable {  // touched on the loop's thread
  /// Gets ready for the first piece; what that weighs, nil if there is none.
  @usableFromInline typealias Beginning = () -> Int?
  /// Runs the piece of an index; what the next one weighs, nil if there is none.
  @usableFromInline typealias Step = (_ index: Int, _ nextWeight: inout Int?) throws -> IdleAnswer

  private let ownKey: IdleKey?
  private let number: Int
  private let size: Int?
  private let hasWeights: Bool
  private let index = Atomic<Int>(0)
  private let time = Atomic<Int64>(0)
  private var pending: Int?
  private var beginning: Beginning?
  private var body: Body?

  /// In a struct, since a bare closure that goes in and out of an optional by a generic function is
  /// wrapped anew each time.
  private struct Body { let step: Step }

  /// A traversal with a key, or with a number of its own.
  @usableFromInline
  init(
    _ loop: Loop, key: IdleKey?, _ options: Options, size: Int?, isWeighted: Bool,
    onEnd: ((End) -> Void)?, _ beginning: @escaping Beginning,
    _ body: @escaping Step
  ) {
    ownKey = key
    number =
      key == nil ? loop.idleCounts.traversals.wrappingAdd(1, ordering: .relaxed).newValue : 0
    self.size = size
    hasWeights = isWeighted
    self.beginning = beginning
    self.body = Body(step: body)
    super.init(loop, options, weight: 1, onEnd: onEnd)
  }

  override var key: IdleKey? { ownKey }
  override var keyName: String { ownKey.map { "\($0)" } ?? "traversal \(number)" }
  override var done: Int { index.load(ordering: .relaxed) }
  override var total: Int? { size }
  override var spent: Int64 { time.load(ordering: .relaxed) }
  override func took(_ time: Int64) {
    self.time.store(spent.addingClamped(max(0, time)), ordering: .relaxed)
  }
  override var isWeighted: Bool { hasWeights }
  override var nextWeight: Int? { pending }

  override func begin() {
    pending = beginning?()
    beginning = nil
  }

  override func step() throws -> IdleAnswer {
    // Taken and put back, which counts no references; nobody frees it in the midst of a piece.
    guard let body = body.take() else { return .stop }
    let index = index.load(ordering: .relaxed)
    var next: Int?
    let result = Result { try body.step(index, &next) }
    self.body = consume body
    // Counted, whether it throws or not.
    self.index.store(index + 1, ordering: .relaxed)
    let answer = try result.get()
    pending = next
    return answer
  }

  override func free() { (beginning, body, pending) = (nil, nil, nil) }
}

/// Walks a sequence. Index and element always agree, whatever the handler does to what it walks:
/// the sequence is iterated once and never indexed.
@usableFromInline
struct Walk<Elements: Sequence>: ~Copyable {
  /// Until it begins: making an iterator may run any code, and that belongs to the loop's thread.
  @usableFromInline var elements: Elements?
  @usableFromInline var iterator: Elements.Iterator?
  @usableFromInline var element: Elements.Element?
  @usableFromInline let weigh: ((Elements.Element) -> Int)?
  @usableFromInline let body: (Int, Elements.Element) throws -> IdleAnswer

  @inlinable
  init(
    _ elements: Elements, weight: ((Elements.Element) -> Int)?,
    _ body: @escaping (Int, Elements.Element) throws -> IdleAnswer
  ) {
    self.elements = elements
    weigh = weight
    self.body = body
  }

  @inlinable
  mutating func begin() -> Int? {
    iterator = elements.take()?.makeIterator()
    return advance()
  }

  @inlinable
  mutating func step(_ index: Int, _ nextWeight: inout Int?) throws -> IdleAnswer {
    guard let element = element.take() else { return .stop }
    let answer = try body(index, element)
    if answer == .continue { nextWeight = advance() }
    return answer
  }

  @inlinable
  mutating func advance() -> Int? {
    element = iterator?.next()
    guard let element else { return nil }
    return weigh?(element) ?? 1
  }
}
