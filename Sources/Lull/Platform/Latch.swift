// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Something that happens once, and that any number of threads can wait for.
final class Latch: Sendable {
  private static let closed: UInt32 = 0
  private static let open: UInt32 = 1
  private let word = Atomic<UInt32>(Latch.closed)

  var isOpen: Bool { word.load(ordering: .acquiring) == Latch.open }

  /// What came before this is seen by all who waited.
  func open() {
    word.store(Latch.open, ordering: .releasing)
    futexWake(word, count: .max)
  }

  func wait() {
    while !isOpen { futexWait(word, while: Latch.closed, nanoseconds: nil) }
  }
}
