// SPDX-License-Identifier: Apache-2.0

import CSubjects

/// A loop library to measure.
struct Subject {
  let name: String
  let calls: subject
  /// Its work is done by threads of its own, which are put on a CPU only with the whole process.
  var usesPool = false

  static let all: [Subject] = [
    Subject(name: "raw", calls: raw_subject()),
    Subject(name: "libuv", calls: uv_subject()),
    Subject(name: "libev", calls: ev_subject()),
    Subject(name: "libevent", calls: event_subject()),
    Subject(name: "GLib", calls: glib_subject()),
    Subject(name: "CFRunLoop", calls: coreFoundationSubject()),
    Subject(name: "Foundation", calls: foundationSubject()),
    Subject(name: "Dispatch", calls: dispatchSubject(), usesPool: true),
    Subject(name: "Lull", calls: lullSubject()),
  ]

  static func named(_ name: String) -> Subject? { all.first { $0.name == name } }
}

extension Subject: @unchecked Sendable {}  // nothing but functions, and never changed

/// Keeps an object for good.
func keep(_ object: AnyObject) -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(object).toOpaque()
}

/// Uses a kept object without counting references, as code does that has it in a property.
@inline(__always)
func with<Object: AnyObject, Result>(
  _ kept: UnsafeMutableRawPointer, as type: Object.Type, _ body: (Object) -> Result
) -> Result {
  Unmanaged<Object>.fromOpaque(kept)._withUnsafeGuaranteedRef(body)
}

/// Timers of a subject, each used without counting references.
final class TimerSet<Loop, Timer: AnyObject> {
  let loop: Loop
  private let timers: [Unmanaged<Timer>]

  init(_ loop: Loop, count: Int, _ make: (UInt64) -> Timer) {
    self.loop = loop
    timers = (0..<count).map { .passRetained(make(UInt64($0))) }
  }

  deinit { for timer in timers { timer.release() } }

  @inline(__always)
  func forEach(
    _ which: UnsafePointer<UInt32>, _ count: Int, _ body: (Timer, _ place: Int) -> Void
  ) {
    timers.withUnsafeBufferPointer { timers in
      for place in 0..<count {
        timers[Int(which[place])]._withUnsafeGuaranteedRef { body($0, place) }
      }
    }
  }

  static func free(_ kept: UnsafeMutableRawPointer) {
    Unmanaged<TimerSet<Loop, Timer>>.fromOpaque(kept).release()
  }
}
