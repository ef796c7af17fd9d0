// SPDX-License-Identifier: Apache-2.0

/// Nanoseconds of the monotonic clock, or a span of them.
typealias Nanoseconds = Int64

/// A stretch of the main thread's time.
struct Stretch: Equatable, Sendable {
  var start: Nanoseconds
  var end: Nanoseconds

  var length: Nanoseconds { end - start }

  /// How much of it lies within `other`.
  func overlap(_ other: Stretch) -> Nanoseconds {
    max(0, min(end, other.end) - max(start, other.start))
  }
}

/// An input event: written by another thread, handled by the main one.
struct InputEvent: Equatable, Sendable {
  var sent: Nanoseconds
  var handling: Stretch

  /// From the moment it was written to the moment its handler began.
  var latency: Nanoseconds { handling.start - sent }
}

/// What the main thread did while one strategy ran. Plain facts; `Figures` are drawn from them.
struct Timeline: Equatable, Sendable {
  /// When frame 0 was due.
  var firstDue: Nanoseconds
  var period: Nanoseconds
  /// When the run was over.
  var end: Nanoseconds
  /// In the order they ran, as are the pieces and the input.
  var frames: [Stretch] = []
  var pieces: [Stretch] = []
  var input: [InputEvent] = []
  /// When the work was handed over; nil when there was none.
  var workGiven: Nanoseconds?
  /// When the last piece ended; nil when the run was over before.
  var workDone: Nanoseconds?
  /// How long the thread was ready to run and had no processor.
  var runQueueDelay: Nanoseconds = 0
  /// How long the machine's processors stood still for the sake of other machines.
  var stolen: Nanoseconds = 0

  /// The part of it that is measured: from the first frame due to the end.
  var span: Stretch { Stretch(start: firstDue, end: max(firstDue, end)) }
}

/// A moment at which a frame was due, and what came of it.
struct FrameDue: Equatable, Sendable {
  /// A delay beyond this is late: the loop's own cost and the timer's slack are far below it.
  static let lateness: Nanoseconds = 1_000_000

  var due: Nanoseconds
  /// The frame that was shown for it; nil when its time passed without one.
  var frame: Stretch?
  /// From when it was due until a frame began, be it this one or, without one, the next.
  var delay: Nanoseconds

  var isLate: Bool { delay > Self.lateness }
}

extension Timeline {
  /// Every frame that was due in the span, in order.
  ///
  /// A frame is shown for the oldest due time that is still without one. Due times it has passed by
  /// then get no frame of their own, as on any display: what was missed is not made up for.
  var framesDue: [FrameDue] {
    // A timer does not fire early; this forgives a clock that is read a moment apart.
    let early: Nanoseconds = 50_000
    var result: [FrameDue] = []
    var next = 0
    var shown = -1
    for due in stride(from: firstDue, to: end, by: max(1, Int(period))) {
      while next < frames.count, frames[next].start < due - early { next += 1 }
      guard next < frames.count else {
        result.append(FrameDue(due: due, frame: nil, delay: end - due))
        continue
      }
      let frame = frames[next]
      let delay = max(0, frame.start - due)
      result.append(FrameDue(due: due, frame: next == shown ? nil : frame, delay: delay))
      shown = next
    }
    return result
  }
}
