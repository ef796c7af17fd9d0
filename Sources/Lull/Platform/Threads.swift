// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc
internal import Synchronization

/// The calling thread, as a word no two living threads share.
@inline(__always)
var currentThread: UInt { lull_thread() }

/// Lets other threads go first, where one of them is a few instructions from done.
func yieldThread() { sched_yield() }

/// Which loop a thread has, and the moment a thread ends.
enum ThreadLoop {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, threadEnds)
    precondition(
      code == 0,
      "no thread-specific key left for loops: "
        + SystemError(code: code, call: "pthread_key_create").description
    )
    return key
  }()

  /// The calling thread's loop, if it has asked for one before.
  static var current: Loop? {
    guard let seat = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<Seat>.fromOpaque(seat).takeUnretainedValue().loop
  }

  /// Gives the calling thread its loop, for as long as the thread lives.
  static func set(_ loop: Loop) {
    let seat = unsafe Unmanaged.passRetained(Seat(loop)).toOpaque()
    unsafe pthread_setspecific(key, seat)
  }

  fileprivate static func ends(_ seat: UnsafeMutableRawPointer) {
    let held = unsafe Unmanaged<Seat>.fromOpaque(seat)
    let value = unsafe held.takeUnretainedValue()
    // Destructors of other keys may still use the loop, or ask for it: ours goes in the last
    // rounds, with the seat still in place so that cancel handlers find their own loop.
    unsafe pthread_setspecific(key, seat)
    value.rounds += 1
    guard value.rounds >= PTHREAD_DESTRUCTOR_ITERATIONS - 1 else { return }
    value.loop.die()
    pthread_setspecific(key, nil)
    unsafe held.release()
  }

  private final class Seat {
    let loop: Loop
    var rounds = 0
    init(_ loop: Loop) { self.loop = loop }
  }
}

/// How often the kernel took the processor from the calling thread while it could have gone on.
package func preemptions() -> Int { lull_preemptions() }

/// The destructor of the key: a top-level function, since C callbacks may not inherit isolation.
private func threadEnds(_ seat: UnsafeMutableRawPointer?) {
  guard let seat = unsafe seat else { return }
  unsafe ThreadLoop.ends(seat)
}
