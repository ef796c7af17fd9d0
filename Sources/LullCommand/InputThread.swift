// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization

/// A thread that sends input events at random times: a user's, as the main thread sees them.
///
/// The times between two are exponentially distributed and come from a seed, so that every strategy
/// of a round gets the same events.
final class InputThread {
  private let isStopped: Flag
  private var thread: Thread?

  /// - Parameter descriptor: where the moment of each event is written; open until `stop` returns.
  init(to descriptor: Int32, seed: UInt64, perSecond: Int) throws(SystemError) {
    let flag = Flag()
    isStopped = flag
    thread = try Thread {
      var random = SplitMix64(seed: seed)
      var moment = monotonicNow()
      while !flag.isSet {
        moment += Self.gap(&random, mean: 1e9 / Double(perSecond))
        sleep(until: moment)
        StampPipe.send(monotonicNow(), to: descriptor)
      }
    }
  }

  /// Never longer than five times the mean, which cuts off one gap of a hundred and fifty: `stop`
  /// has to wait for the last one.
  private static func gap(_ random: inout SplitMix64, mean: Double) -> Nanoseconds {
    Nanoseconds(min(-log(random.nextUnit()), 5) * mean)
  }

  func stop() {
    isStopped.set()
    thread.take()?.join()
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
  }
}
