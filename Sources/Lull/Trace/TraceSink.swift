// SPDX-License-Identifier: Apache-2.0

extension Loop {
  /// Receives what a loop does while it does it, for tools that show or measure it.
  ///
  /// Set one with ``Loop/trace``. A loop without a sink pays one test at each point and reads no
  /// clock.
  ///
  /// > Threads: called on the loop's thread only. It must not call the loop.
  public protocol TraceSink: AnyObject, Sendable {
    /// Something began or ended, at `time`.
    func record(_ event: TraceEvent, at time: Instant)
  }

  /// A point in a loop's work. Begins and ends nest strictly.
  public enum TraceEvent: Sendable {
    /// A run of a mode began; runs nest.
    case runBegins(Mode)
    /// It ended, and why.
    case runEnds(Mode, RunResult)
    /// A pass began.
    case passBegins
    /// It ended.
    case passEnds
    /// A callout of an item began; which phase it is in follows from its kind.
    case calloutBegins(Callout)
    /// It ended.
    case calloutEnds(Callout)
    /// The loop goes to sleep until `deadline` at the latest; nil for no limit.
    case waitBegins(deadline: Instant?)
    /// It woke.
    case waitEnds
    /// A piece of idle work began.
    case pieceBegins(key: String)
    /// It ended.
    case pieceEnds(key: String)
  }

  /// What is being called.
  public enum Callout: Sendable {
    /// An observer, for one activity.
    case observer(Observer, Activities)
    /// A timer.
    case timer(Timer)
    /// A signalled source.
    case source(Source)
    /// A descriptor source, with what it is told.
    case descriptor(DescriptorSource, Readiness)
    /// A performed block.
    case block
    /// The jobs of the dispatch main queue, main-actor jobs among them.
    case mainQueue
  }

  /// Who is told what this loop does. On the loop's thread.
  public var trace: (any TraceSink)? {
    get {
      preconditionOnLoop()
      return state.value.trace
    }
    set {
      preconditionOnLoop()
      state.value.trace = newValue
    }
  }

  @inline(__always)
  func record(_ event: @autoclosure () -> TraceEvent) {
    guard let trace = state.value.trace else { return }
    trace.record(event(), at: now)
  }

  /// Calls out, between a begin and an end.
  @inline(__always)
  func call(_ callout: @autoclosure () -> Callout, _ body: () -> Void) {
    guard let trace = state.value.trace else { return body() }
    let callout = callout()
    trace.record(TraceEvent.calloutBegins(callout), at: now)
    body()
    trace.record(TraceEvent.calloutEnds(callout), at: now)
  }
}
