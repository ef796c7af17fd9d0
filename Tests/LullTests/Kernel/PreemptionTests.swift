// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Lull
import Testing

@Suite struct `Preemptions` {
  /// Two threads that both want the one processor they may have.
  @Test func `are counted where a thread could have gone on`() {
    let isOver = Counter()
    let counted = Counter()
    onThreads(2) { number in
      test_pin_to_one_processor()
      guard number == 0 else {
        while isOver.value == 0 {}
        return
      }
      let before = preemptions()
      let end = Loop.Instant.now.advanced(by: .seconds(30))
      while preemptions() == before, Loop.Instant.now < end {}
      counted.add(preemptions() - before)
      isOver.add()
    }
    #expect(counted.value > 0)
  }
}
