// SPDX-License-Identifier: Apache-2.0

/// Decides whether to spin before a sleep: only where sleeps have been short of late, and never for
/// long where it was in vain.
///
/// A thread that sleeps is woken in tens of microseconds where its processor has gone to rest; one
/// that spins hears at once, but takes the processor from whoever was to post, if there is only
/// one. The rule is that of the kernel's halt polling, which grows and shrinks by what it sees.
package struct SpinPolicy {
  /// Sleeps shorter than this would have been worth a spin. Nanoseconds, as all here.
  package static let worthwhile: Int64 = 50_000
  /// How long a spin lasts at most.
  package static let longest: Int64 = 50_000

  private var credit = 0
  /// Waits to go by without a spin.
  private var rest = 0
  private var nextRest = 64
  private var wasVain = false

  package init() {}

  /// Whether the next wait begins with a spin.
  package mutating func maySpin() -> Bool {
    guard rest == 0 else {
      rest -= 1
      return false
    }
    return credit >= 4
  }

  /// A spin was cut short by what it waited for, or was not.
  package mutating func spun(inVain: Bool) {
    wasVain = inVain
    guard inVain else {
      nextRest = 64
      return
    }
    credit = max(0, credit - 8)
  }

  /// The thread slept so long, and was woken by another or not.
  package mutating func slept(for time: Int64, wokenByPost: Bool) {
    defer { wasVain = false }
    guard wokenByPost, time < SpinPolicy.worthwhile else { return }
    if wasVain {
      // It came as soon as we let go: who posts needed our processor.
      rest = nextRest
      nextRest = min(2 * nextRest, 1 << 16)
    } else {
      credit = min(16, credit + 1)
    }
  }
}
