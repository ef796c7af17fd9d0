// SPDX-License-Identifier: Apache-2.0

import Glibc
import LullTesting
import Testing

/// A sanitizer that reports nothing may be one that sees nothing.
@Suite struct `A planted race` {
  /// Shared by two threads without any guard, on purpose.
  private final class Unguarded: @unchecked Sendable { var count = 0 }

  /// With LULL_PLANTED_RACE set the thread sanitizer has to report this; without, there is no race.
  @Test func `planted race`() {
    let shared = Unguarded()
    let isPlanted = unsafe getenv("LULL_PLANTED_RACE") != nil
    if isPlanted { race(on: shared) } else { onNewThread { shared.count += 1 } }
    #expect(shared.count > 0)
  }

  private func race(on shared: Unguarded) {
    let racer: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { address in
      let shared = unsafe Unmanaged<Unguarded>.fromOpaque(address!).takeUnretainedValue()
      for _ in 0..<10_000 { shared.count += 1 }
      return nil
    }
    var threads = [pthread_t(), pthread_t()]
    let address = unsafe Unmanaged.passUnretained(shared).toOpaque()
    for index in threads.indices { _ = unsafe pthread_create(&threads[index], nil, racer, address) }
    for thread in threads { pthread_join(thread, nil) }
  }
}
