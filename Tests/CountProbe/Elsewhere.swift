// SPDX-License-Identifier: Apache-2.0

import CAllocations
import Lull
import Synchronization

/// Does something on another thread whenever it is asked to.
///
/// Both threads wait for each other without a system call or an allocation, so that what is counted
/// is the loop's.
final class Elsewhere: Sendable {
  private let asked = Atomic<Int>(0)
  private let answered = Atomic<Int>(0)

  init(_ body: @escaping @Sendable () -> Void) throws {
    // The thread's own loop never gets beyond this block.
    try LoopThread(name: "elsewhere").loop.perform { [self] in
      test_count_allocations(true)
      while true {
        while asked.load(ordering: .acquiring) == answered.load(ordering: .relaxed) {}
        body()
        answered.wrappingAdd(1, ordering: .releasing)
      }
    }
  }

  func begin() { asked.wrappingAdd(1, ordering: .releasing) }

  func finish() {
    while answered.load(ordering: .acquiring) != asked.load(ordering: .relaxed) {}
  }

  func callAsFunction() {
    begin()
    finish()
  }
}
