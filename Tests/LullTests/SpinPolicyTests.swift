// SPDX-License-Identifier: Apache-2.0

import Lull
import Testing

@Suite struct `The spin policy` {
  /// Short sleeps that posts ended, as of two threads that answer each other.
  private func afterShortSleeps(_ count: Int) -> SpinPolicy {
    var policy = SpinPolicy()
    for _ in 0..<count { policy.slept(for: 10_000, wokenByPost: true) }
    return policy
  }

  @Test func `does not spin until sleeps have been short`() {
    for (sleeps, spins) in [(0, false), (3, false), (4, true), (100, true)] {
      var policy = afterShortSleeps(sleeps)
      let mayNow = policy.maySpin()
      #expect(mayNow == spins, "\(sleeps) short sleeps")
    }
  }

  @Test func `learns nothing from long sleeps and from those that no post ended`() {
    var policy = SpinPolicy()
    for _ in 0..<100 {
      policy.slept(for: SpinPolicy.worthwhile, wokenByPost: true)
      policy.slept(for: 1_000, wokenByPost: false)
    }
    let mayNow = policy.maySpin()
    #expect(!mayNow)
  }

  @Test func `goes on while it pays, and stops soon where it is in vain`() {
    var policy = afterShortSleeps(16)
    for _ in 0..<1_000 {
      let mayNow = policy.maySpin()
      #expect(mayNow)
      policy.spun(inVain: false)
    }
    var spins = 0
    while policy.maySpin() {
      spins += 1
      policy.spun(inVain: true)
      policy.slept(for: 1_000_000, wokenByPost: true)
    }
    #expect(spins == 2)
  }

  /// On one processor the post comes as soon as the spinner sleeps.
  @Test func `rests, ever longer, where whoever posts needs the processor`() {
    var policy = afterShortSleeps(16)
    var waits = 0
    for rest in [64, 128, 256] {
      policy.spun(inVain: true)
      policy.slept(for: 5_000, wokenByPost: true)
      waits = 0
      while !policy.maySpin() {
        waits += 1
        policy.slept(for: 5_000, wokenByPost: true)
      }
      #expect(waits == rest)
    }
  }
}
