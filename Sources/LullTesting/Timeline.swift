// SPDX-License-Identifier: Apache-2.0

public import Lull

/// What happened and when, drawn as a line of text to be compared whole.
///
/// Marks stand in order; `+5` says that five milliseconds passed; `sleep` and `wake` stand where
/// the loop slept and time passed meanwhile.
///
/// ```swift
/// let timeline = Timeline(of: loop)
/// loop.schedule(after: .milliseconds(5)) { _ in timeline.mark("tick") }
/// loop.run()
/// #expect(timeline.text == "sleep +5 wake tick")
/// ```
///
/// > Threads: any that virtual time lets run.
public final class Timeline: Loop.TraceSink, @unchecked Sendable {  // one thread runs at a time
  private let loop: Loop
  private var marks: [String] = []
  private var last: Loop.Instant
  private var mayBeAsleep = false
  private var sleeps = false

  /// A timeline of a loop, which becomes its trace sink. On the loop's thread.
  public init(of loop: Loop) {
    self.loop = loop
    last = loop.now
    loop.trace = self
  }

  /// Notes that something happens now.
  public func mark(_ text: String) {
    note(at: loop.now)
    marks.append(text)
  }

  /// All of it.
  public var text: String { marks.joined(separator: " ") }

  /// Begins anew, at this moment.
  public func clear() {
    marks = []
    last = loop.now
  }

  /// What the loop reports; for it alone.
  public func record(_ event: Loop.TraceEvent, at time: Loop.Instant) {
    switch event {
    case .waitBegins:
      note(at: time)
      mayBeAsleep = true
    case .waitEnds:
      note(at: time)
      mayBeAsleep = false
      if sleeps { marks.append("wake") }
      sleeps = false
    default: break
    }
  }

  private func note(at time: Loop.Instant) {
    guard time > last else { return }
    if mayBeAsleep, !sleeps {
      marks.append("sleep")
      sleeps = true
    }
    marks.append("+\(milliseconds(last.duration(to: time)))")
    last = time
  }

  /// As short as it can be said: `5`, `0.25`.
  private func milliseconds(_ duration: Duration) -> String {
    let microseconds = Int64(duration / .microseconds(1))
    let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1000)
    if rest == 0 { return "\(whole)" }
    var digits = String(repeating: "0", count: 3 - "\(rest)".count) + "\(rest)"
    while digits.hasSuffix("0") { digits.removeLast() }
    return "\(whole).\(digits)"
  }
}
