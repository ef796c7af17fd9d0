// SPDX-License-Identifier: Apache-2.0

/// What a loop's idle work has done, and why it waited.
public struct IdleReport: Sendable, CustomStringConvertible {
  /// Why a piece that could have run did not, at a moment when it was asked.
  public enum Reason: String, Sendable, CaseIterable, Hashable {
    /// The loop ran in a mode that is not common.
    case mode
    /// Something was signalled, posted, due or ready, and came first.
    case input
    /// It would have run into the next frame.
    case frame
    /// It would have run into the next timer, or the end of the run.
    case timer
    /// The pass had given all the time it may.
    case budget
    /// The user dragged or scrolled, and it is throttled or paused then.
    case tracking
    /// It ran out of work for now, as it said itself.
    case nothingToDo
    /// A piece was running, and a run in it gives no time to others.
    case nested
    /// A piece of a higher priority ran.
    case priority
  }

  /// How many pieces ran.
  public internal(set) var pieces = 0
  /// How long they took.
  public internal(set) var timeUsed = Duration.zero
  /// The longest pieces by key, those of the eight keys with the longest.
  public internal(set) var longestPieces: [String: Duration] = [:]
  /// How many pieces took longer than expected.
  public internal(set) var overruns = 0
  /// How many frames came due while a piece ran, and were late for that.
  public internal(set) var delayedFrames = 0
  /// The same by the key whose piece it was; of the first 64 keys.
  public internal(set) var delayedFramesByKey: [String: Int] = [:]
  /// The longest that an item waited for a piece.
  public internal(set) var longestWait = Duration.zero
  /// How often a piece did not run, by reason.
  public internal(set) var waits: [Reason: Int] = [:]
  /// Items that were dropped, because the queue was full or their key had been stopped.
  public internal(set) var drops = 0
  /// Pieces that threw.
  public internal(set) var failures = 0

  /// The figures, for logs.
  public var description: String {
    let reasons = Reason.allCases.compactMap { reason in
      waits[reason].map { "\(reason.rawValue) \($0)" }
    }
    let longest = longestPieces.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }
    return """
      \(pieces) pieces in \(timeUsed), \(overruns) longer than expected, \(failures) failed, \
      \(drops) dropped; \(delayedFrames) frames delayed; longest wait \(longestWait); \
      longest pieces: \(longest.joined(separator: ", ")); waited: \(reasons.joined(separator: ", "))
      """
  }
}

/// The counts behind a report, kept so that a piece costs a few additions.
struct IdleTally {
  var pieces = 0
  var time: Int64 = 0
  var overruns = 0
  var delayedFrames = 0
  var delayedFramesByKey: [String: Int] = [:]
  var longestWait: Int64 = 0
  var drops = 0
  var failures = 0
  /// By the order of the reasons.
  private var waits: (Int, Int, Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0, 0, 0)
  private var longest: [(key: String, time: Int64)] = []
  /// The least of as many as are kept.
  private var leastLongest: Int64 = 0

  private static let mostKeys = 8
  private static let mostDelayers = 64

  @inline(__always)
  mutating func waited(_ reason: IdleReport.Reason) {
    switch reason {
    case .mode: waits.0 += 1
    case .input: waits.1 += 1
    case .frame: waits.2 += 1
    case .timer: waits.3 += 1
    case .budget: waits.4 += 1
    case .tracking: waits.5 += 1
    case .nothingToDo: waits.6 += 1
    case .nested: waits.7 += 1
    case .priority: waits.8 += 1
    }
  }

  @inline(__always)
  mutating func ran(for time: Int64, after wait: Int64) {
    pieces += 1
    self.time &+= time
    if wait > longestWait { longestWait = wait }
  }

  /// No piece of its key has taken so long.
  mutating func tookLongest(_ work: IdleWork, _ time: Int64) {
    guard time > leastLongest else { return }
    let key = work.keyName
    if let known = longest.firstIndex(where: { $0.key == key }) {
      longest[known].time = max(longest[known].time, time)
    } else {
      longest.append((key, time))
      if longest.count > IdleTally.mostKeys {
        longest.remove(at: longest.indices.min { longest[$0].time < longest[$1].time }!)
      }
    }
    if longest.count == IdleTally.mostKeys { leastLongest = longest.map(\.time).min()! }
  }

  mutating func delayed(_ frames: Int, by work: IdleWork) {
    delayedFrames += frames
    let key = work.keyName
    if delayedFramesByKey.count < IdleTally.mostDelayers || delayedFramesByKey[key] != nil {
      delayedFramesByKey[key, default: 0] += frames
    }
  }

  var report: IdleReport {
    var report = IdleReport()
    report.pieces = pieces
    report.timeUsed = .nanoseconds(time)
    report.longestPieces = Dictionary(
      uniqueKeysWithValues: longest.map { ($0.key, .nanoseconds($0.time)) })
    report.overruns = overruns
    report.delayedFrames = delayedFrames
    report.delayedFramesByKey = delayedFramesByKey
    report.longestWait = .nanoseconds(longestWait)
    report.drops = drops
    report.failures = failures
    let counts = [
      waits.0, waits.1, waits.2, waits.3, waits.4, waits.5, waits.6, waits.7,
      waits.8,
    ]
    for (reason, count) in zip(IdleReport.Reason.allCases, counts) where count > 0 {
      report.waits[reason] = count
    }
    return report
  }
}
