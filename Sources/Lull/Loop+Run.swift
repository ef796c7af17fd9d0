// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Synchronization

extension Loop {
  /// Why a run came back.
  public enum RunResult: Sendable, Hashable {
    /// The mode is empty: no source, timer or block in it, and no idle work. Running it again will
    /// come back at once, so do not do it in a loop.
    case finished
    /// ``Loop/stop()`` was called.
    case stopped
    /// The time is up.
    case timedOut
    /// A source was handled, in a run that was to return after one.
    case handledSource
  }

  /// Runs in ``Mode/default`` until it is stopped or the mode is empty.
  ///
  /// - Returns: ``RunResult/stopped`` or ``RunResult/finished``.
  /// - Precondition: on the loop's thread.
  @available(*, noasync, message: "a run blocks its thread: call it from synchronous code")
  @discardableResult
  public func run() -> RunResult { run(in: .default, until: .distantFuture) }

  /// Runs in `mode` for a time.
  ///
  /// - Parameters:
  ///   - mode: A mode; not the common pseudo-mode, which gives ``RunResult/finished``.
  ///   - duration: Zero or less is one pass that does not wait.
  ///   - returnAfterSourceHandled: Whether to come back after one source was handled. Timers,
  ///     blocks and observers are not sources; the dispatch main queue is one.
  /// - Precondition: on the loop's thread.
  @available(*, noasync, message: "a run blocks its thread: call it from synchronous code")
  public func run(
    in mode: Mode, for duration: Duration, returnAfterSourceHandled: Bool = false
  ) -> RunResult {
    let isPoll = duration.attoseconds <= 0
    let limit = isPoll ? .distantPast : now.advanced(by: duration)
    return run(mode, until: limit, isPoll: isPoll, returnAfterSourceHandled)
  }

  /// Runs in `mode` until `limit`. A moment that has passed gives one pass that does not wait. See
  /// ``run(in:for:returnAfterSourceHandled:)``.
  @available(*, noasync, message: "a run blocks its thread: call it from synchronous code")
  public func run(
    in mode: Mode, until limit: Instant = .distantFuture, returnAfterSourceHandled: Bool = false
  ) -> RunResult {
    let isPoll = limit != .distantFuture && limit <= now
    return run(mode, until: limit, isPoll: isPoll, returnAfterSourceHandled)
  }

  /// One run: entry, passes, exit.
  private func run(
    _ mode: Mode, until limit: Instant, isPoll: Bool, _ returnsAfterSource: Bool
  ) -> RunResult {
    preconditionOnLoop("run")
    readMail()
    guard mode != .common else { return .finished }
    let index = state.value.modes.index(of: mode)
    guard state.value.modes[index].exists, !isEmpty(index) else { return .finished }

    let run = Activation(
      mode: index, level: level.load(ordering: .relaxed) + 1, outer: state.value.mode,
      limit: limit.nanoseconds, isPoll: isPoll, returnsAfterSource: returnsAfterSource)
    let turnEnds = state.value.turnEnds
    state.value.turnEnds = .max  // Inside a host's turn, too, a run has the thread for itself.
    state.value.active += 1
    var result = begin(run)
    while result == nil {
      result = hop(run) ?? (state.value.host == nil ? pass(run) : carry(run))
    }
    end(run, result!)
    state.value.active -= 1
    state.value.turnEnds = turnEnds
    // Between two turns of a host it has served what the host would have been told of.
    if state.value.stay != nil, state.value.active == 0 { poller.wake() }
    return result!
  }

  /// Enters a run; it is over at once if it has been asked to stop.
  @inline(__always)
  func begin(_ run: Activation) -> RunResult? {
    state.value.mode = run.mode
    state.value.runs += 1
    level.store(run.level, ordering: .releasing)
    let mode = state.value.modes[run.mode].mode
    runningMode.store(mode.id, ordering: .releasing)
    if run.level == 1, isMain, !state.value.watchesMainQueue { watchMainQueue() }
    record(.runBegins(mode))
    notify(.entry, in: run.mode)
    return takeStop(run) ? .stopped : nil
  }

  /// Leaves it.
  @inline(__always)
  func end(_ run: Activation, _ result: RunResult) {
    notify(.exit, in: run.mode)
    record(.runEnds(state.value.modes[run.mode].mode, result))
    state.value.mode = run.outer
    level.store(run.level - 1, ordering: .releasing)
    let outer = run.outer.map { state.value.modes[$0].mode.id }
    runningMode.store(outer ?? -1, ordering: .releasing)
    if run.level == 1 { poller.runEnds() }
  }

  /// Whether this run has been asked to stop; it will then report so.
  @inline(__always)
  func takeStop(_ run: Activation) -> Bool {
    let asked = stops.load(ordering: .sequentiallyConsistent)
    return asked == 0 ? false : takeStop(run, of: asked)
  }

  private func takeStop(_ run: Activation, of asked: UInt64) -> Bool {
    if asked & Loop.everyRun != 0 { return true }
    let bit = Loop.stopBit(of: run.level)
    guard asked & bit != 0 else { return false }
    return stops.bitwiseAnd(~bit, ordering: .sequentiallyConsistent).oldValue & bit != 0
  }

  @inline(__always)
  func isStopped(_ run: Activation) -> Bool {
    let asked = stops.load(ordering: .sequentiallyConsistent)
    return asked != 0 && asked & (Loop.stopBit(of: run.level) | Loop.everyRun) != 0
  }

  /// Whether nothing in the mode could ever happen.
  ///
  /// The dispatch main queue may always bring something to the main loop's common modes, but not
  /// from inside one of its own jobs.
  @inline(__always)
  func isEmpty(_ mode: ModeTable.Index) -> Bool {
    state.value.modes[mode].items > 0 ? false : isWithoutWork(mode)
  }

  private func isWithoutWork(_ mode: ModeTable.Index) -> Bool {
    let isCommon = state.value.modes[mode].isCommon
    if isMain, isCommon, !state.value.isDrainingMainQueue { return false }
    if isCommon, hasIdleWork { return false }
    return !hasBlock(in: mode)
  }
}

/// One run on the stack: what does not change while it lasts.
struct Activation {
  let mode: ModeTable.Index
  /// 1 for the outermost.
  let level: Int
  /// The mode of the run around it.
  let outer: ModeTable.Index?
  var limit = Int64.max
  /// A run without time: each pass looks and does not wait.
  var isPoll = false
  var returnsAfterSource = false
}
