// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a piece of resumable work answers.
public enum IdleStep: Sendable, Hashable {
  /// There is more to do.
  case more
  /// All is done.
  case done
  /// There is nothing to do before this moment; the loop sleeps until then if nothing else calls.
  case nothing(until: Loop.Instant)
}

/// Work that says itself whether there is more.
final class Resumable: IdleWork, @unchecked Sendable {  // touched on the loop's thread
  private let ownKey: IdleKey
  private let count = Atomic<Int>(0)
  private let time = Atomic<Int64>(0)
  private var until = Int64.min
  private var isDone = false
  private var body: (() throws -> IdleStep)?

  init(
    _ loop: Loop, _ key: IdleKey, _ options: Options, weight: Int, onEnd: ((End) -> Void)?,
    _ body: @escaping () throws -> IdleStep
  ) {
    ownKey = key
    self.body = body
    super.init(loop, options, weight: weight, onEnd: onEnd)
  }

  override var key: IdleKey? { ownKey }
  override var done: Int { count.load(ordering: .relaxed) }
  override var spent: Int64 { time.load(ordering: .relaxed) }
  override func took(_ time: Int64) {
    self.time.store(spent.addingClamped(max(0, time)), ordering: .relaxed)
  }

  override var nextWeight: Int? { isDone ? nil : Int(weight) }
  override var pausedUntil: Int64 { until }

  override func step() throws -> IdleAnswer {
    guard let body else { return .stop }
    count.store(done + 1, ordering: .relaxed)
    until = .min
    switch try body() {
    case .more: break
    case .done: isDone = true
    case .nothing(let moment): until = moment.nanoseconds
    }
    return .continue
  }

  override func free() { body = nil }
}
