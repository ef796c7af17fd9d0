// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull
import LullTesting
import Testing

@Suite struct `Two clocks` {
  /// A thread that the machine takes the processor from between two looks at its clocks.
  private final class SlowReader: Poller, @unchecked Sendable {  // touched by one thread
    var now: Int64 = 0
    let preemptions = 0
    /// What the next look at the clock that counts suspend takes.
    var delay: Int64 = 0
    var coarseNow: Int64 { now }
    var continuousNow: Int64 {
      now += delay
      delay = 0
      return now
    }

    func prepare(_ descriptor: CInt) throws(SystemError) {}
    func watch(
      _ descriptor: CInt, for interest: Loop.Readiness, token: UInt64
    ) throws(SystemError) {}
    func unwatch(_ descriptor: CInt) {}
    func startAfresh() {}
    func setContinuousDeadline(_ deadline: Int64) {}
    func wait(until deadline: Int64, into ready: inout [ReadyEvent]) {}
    func wake() {}
    func turnDescriptor() throws(SystemError) -> CInt {
      throw SystemError(code: ENOSYS, call: "no kernel")
    }
    func arm(until deadline: Int64) {}
    func runEnds() {}
  }

  @Test func `read at different moments do not turn the order of their timers around`() {
    let order = Cell<[Int]>([])
    onNewThread {
      let clock = SlowReader()
      let loop = Loop.makeCurrent(on: clock)
      loop.schedule(after: .milliseconds(1)) { _ in order.update { $0.append(1) } }
      loop.schedule(after: .milliseconds(3), base: .continuous) { _ in
        order.update { $0.append(2) }
      }
      clock.now = 4_000_000
      clock.delay = 5_000_000
      _ = loop.run(in: .default, for: .zero)
    }
    #expect(order.value == [1, 2])
  }
}
