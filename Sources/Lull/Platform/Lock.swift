// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Synchronization

/// The one lock of this module: compare and swap, a bounded spin, then a futex.
///
/// `Synchronization.Mutex` is a priority-inheriting futex in Swift 6.3 on Linux, hundreds of times
/// slower under contention (swiftlang/swift#88440, replaced after 6.3), and the thread sanitizer
/// does not see it as synchronization. It sees this one. No lock is ever held in user code.
package struct Lock: ~Copyable, Sendable {
  private static let free: UInt32 = 0
  private static let held: UInt32 = 1
  private static let contended: UInt32 = 2

  private let word = Atomic<UInt32>(Lock.free)

  package init() {}

  @inline(__always)
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Where a closure is in the way; unlock in a `defer`.
  @inline(__always)
  borrowing func lock() { if !tryLock() { lockSlowly() } }

  /// The same for who empties what others fill. Where it meets one of them it stays away for a
  /// microsecond or two, and finds more when it comes back. Who asks again and again takes the line
  /// of the cache from them each time: then every post costs four times as much.
  @inline(__always)
  borrowing func lockGently() { if !tryLock() { lockLater() } }

  @inline(__always)
  private borrowing func tryLock() -> Bool {
    word.compareExchange(expected: Lock.free, desired: Lock.held, ordering: .acquiring).exchanged
  }

  @inline(never)
  private borrowing func lockLater() {
    for _ in 0..<6 {
      for _ in 0..<48 { lull_pause() }
      if tryLock() { return }
    }
    lockSlowly()
  }

  @inline(never)
  private borrowing func lockSlowly() {
    for _ in 0..<64 {
      if word.load(ordering: .relaxed) == Lock.free, tryLock() { return }
      lull_pause()
    }
    // From here on we may have company, so whoever unlocks must look for sleepers.
    while word.exchange(Lock.contended, ordering: .acquiring) != Lock.free {
      futexWait(word, while: Lock.contended, nanoseconds: nil)
    }
  }

  @inline(__always)
  borrowing func unlock() {
    if word.exchange(Lock.free, ordering: .releasing) == Lock.contended { futexWake(word) }
  }
}

/// Sleeps while `word` holds `value`, until woken, interrupted or out of time.
func futexWait(_ word: borrowing Atomic<UInt32>, while value: UInt32, nanoseconds: Int64?) {
  unsafe withUnsafePointer(to: word) { address in
    _ = unsafe lull_futex_wait(address, value, nanoseconds ?? -1)
  }
}

/// Wakes sleepers on `word`, one if not told otherwise.
func futexWake(_ word: borrowing Atomic<UInt32>, count: CInt = 1) {
  unsafe withUnsafePointer(to: word) { address in unsafe lull_futex_wake(address, count) }
}
