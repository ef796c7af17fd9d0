// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// One pass of a run: the heart of the loop. The documentation numbers the same steps.
  func pass(_ run: Activation) -> RunResult? {
    var ready: [ReadyEvent] = []
    swap(&ready, &state.value.spareReady)
    var pass = open(run, into: &ready)  // 1 to 7
    wait(&pass, into: &ready)  // 8
    let result = close(pass, ready)  // 9 to 12
    if !ready.isEmpty { ready.removeAll(keepingCapacity: true) }
    swap(&ready, &state.value.spareReady)
    return result
  }

  /// The rest of a pass that has begun among hops and has `reached` one of its steps.
  func pass(_ begun: Pass, from reached: Reached) -> RunResult? {
    var pass = begun
    var ready: [ReadyEvent] = []
    swap(&ready, &state.value.spareReady)
    record(.passBegins)
    open(&pass, from: reached, into: &ready)
    wait(&pass, into: &ready)
    let result = close(pass, ready)
    if !ready.isEmpty { ready.removeAll(keepingCapacity: true) }
    swap(&ready, &state.value.spareReady)
    return result
  }

  /// What comes before the wait.
  @inline(__always)
  func open(_ run: Activation, into ready: inout [ReadyEvent]) -> Pass {
    var pass = Pass(run: run, seen: wakes.load(ordering: .sequentiallyConsistent))
    record(.passBegins)
    notify(.beforeTimers, in: run.mode)  // 1
    notify(.beforeSources, in: run.mode)  // 2
    runBlocks(in: run.mode)  // 3
    open(&pass, from: .blocks, into: &ready)  // 4 to 7
    return pass
  }

  @inline(__always)
  private func open(_ pass: inout Pass, from reached: Reached, into ready: inout [ReadyEvent]) {
    let run = pass.run
    if reached == .blocks { pass.performed = performSignalledSources(run) }  // 4
    if pass.performed {
      if reached != .look { runBlocks(in: run.mode) }
      if hasIdleWork { idle.eventServed(at: poller.now) }
    }
    pass.runs = state.value.runs
    if pass.performed || run.isPoll || isEmpty(run.mode) {
      if pass.performed { giveOverdueIdleShare(run) }
      look(run, into: &ready)  // 5
    } else {
      pass.waits = true
      notify(.beforeWaiting, in: run.mode)  // 6
      pass.idleWish = giveIdleShare(pass, into: &ready)  // 7
    }
  }

  /// What comes after it. The run is over if there is a result.
  @inline(__always)
  func close(_ pass: Pass, _ ready: [ReadyEvent]) -> RunResult? {
    defer { record(.passEnds) }
    let run = pass.run
    if pass.waits { notify(.afterWaiting, in: run.mode) }  // 9
    let served = serve(run, ready, asOf: pass.runs)  // 10
    runBlocks(in: run.mode)  // 11
    return verdict(run, handled: pass.performed || served)  // 12
  }

  /// Whether the run is over, and why. The first reason counts.
  @inline(__always)
  func verdict(_ run: Activation, handled: Bool) -> RunResult? {
    if handled, run.returnsAfterSource { return .handledSource }
    if run.isPoll { return .timedOut }
    if run.limit != .max {
      let now = poller.now
      if now >= run.limit {
        idle.reached(run.limit, at: now)
        return .timedOut
      }
    }
    if takeStop(run) { return .stopped }
    if isEmpty(run.mode) { return .finished }
    return nil
  }

  // MARK: Observers

  /// Calls the observers of an activity that were there when it began and still are.
  @inline(__always)
  func notify(_ activity: Activities, in mode: ModeTable.Index) {
    if state.value.modes[mode].observers.activities.contains(activity) {
      callObservers(of: activity, in: mode)
    }
  }

  private func callObservers(of activity: Activities, in mode: ModeTable.Index) {
    var observers = Slab<Unretained<Observer>>()
    swap(&observers, &state.value.spareObservers)
    state.value.modes[mode].observers.collect(activity, into: &observers)
    for place in 0..<observers.count {
      observers[place].with { call($0, activity, in: mode) }
      observers[place].release()
    }
    observers.truncate(to: 0)
    swap(&observers, &state.value.spareObservers)
  }

  private func call(_ observer: Observer, _ activity: Activities, in mode: ModeTable.Index) {
    // An earlier one may have given it to another loop, or taken it out of the mode.
    guard observer.isValid, observer.belongs(to: self), !observer.isFiring,
      state.value.modes.contains(mode, in: observer.membership.modes),
      let handler = observer.handler
    else { return }
    observer.isFiring = true
    call(.observer(observer, activity)) { handler(observer, activity) }
    observer.isFiring = false
    if !observer.repeats { observer.invalidate() }
  }

  // MARK: Blocks

  /// Runs the blocks of the mode that are queued now; what they queue waits for the next step.
  @inline(__always)
  func runBlocks(in mode: ModeTable.Index) {
    readMail()
    if !state.value.blocks.isEmpty { runStep(in: mode) }
  }

  private func runStep(in mode: ModeTable.Index) {
    let name = state.value.modes[mode].mode
    if let block = state.value.blocks.takeOnly(in: name) { return call(.block) { block.body() } }
    var step = state.value.blocks.beginStep(in: name, isCommon: state.value.modes[mode].isCommon)
    // Each is let go as soon as it ran, with all that it holds.
    while let block = step.next(in: name, isCommon: state.value.modes[mode].isCommon) {
      call(.block) { block.body() }
    }
    state.value.blocks.endStep(step)
  }

  // MARK: Signalled sources

  /// Performs the signalled sources of the mode, by order; true if any was.
  @inline(__always)
  func performSignalledSources(_ run: Activation) -> Bool {
    state.value.signals.isEmpty ? false : performDueSources(run)
  }

  private func performDueSources(_ run: Activation) -> Bool {
    if let only = state.value.signals.only(in: run.mode, of: state.value.modes) {
      return perform(only.seat, in: run.mode)
    }
    var performed = false
    var dropped: [Seat] = []
    let due = state.value.signals.due(in: run.mode, of: state.value.modes, dropped: &dropped)
    dropped.removeAll()
    for seat in due where perform(Unretained(seat), in: run.mode) {
      performed = true
      if run.returnsAfterSource { break }
    }
    return performed
  }

  private func perform(_ seat: Unretained<Seat>, in mode: ModeTable.Index) -> Bool {
    // The seat may go in the handler; the source is kept. Any signal will do: a nested run may have
    // performed this one and left another.
    guard let source = seat.with({ isSeated($0, in: mode) ? $0.source : nil }) ?? nil,
      source.isValid, let handler = source.performer, source.takeSignal()
    else { return false }
    call(.source(source)) { handler(source) }
    return true
  }

  // MARK: Waiting

  /// Asks the kernel what is ready, without waiting, if anything of the mode could be.
  func look(_ run: Activation, into ready: inout [ReadyEvent]) {
    widenIfModeChanged(run.mode)
    let drains = state.value.watchesMainQueue && state.value.modes[run.mode].isCommon
    guard drains || state.value.modes[run.mode].descriptorSources > 0 else { return }
    poller.wait(until: .min, into: &ready)
    keepWanted(&ready, in: run.mode)
  }

  /// Sleeps until something of the mode is ready or due, or idle work wants to go on.
  @inline(__always)
  private func wait(_ pass: inout Pass, into ready: inout [ReadyEvent]) {
    guard pass.waits else { return }
    if ready.isEmpty { spin(pass) }
    if let deadline = fallAsleep(pass, into: &ready) {
      sleep(until: deadline, in: pass.run.mode, into: &ready)
      wakeFromSleep(pass, into: &ready)
    }
    pass.runs = state.value.runs
  }

  /// Says that the loop sleeps, and answers for how long; nil when there is something to do.
  func fallAsleep(_ pass: Pass, into ready: inout [ReadyEvent]) -> Int64? {
    if !ready.isEmpty { return nil }
    let run = pass.run
    let mustNotSleep = mustNotSleep(pass)
    // Idle work that came since the share has to be given one before the loop sleeps.
    let hasNews = idleState.value.hasNews && hasIdleWork && state.value.modes[run.mode].isCommon
    if mustNotSleep || hasNews {
      look(run, into: &ready)
      return nil
    }
    widenIfModeChanged(run.mode)
    var deadline = min(run.limit, pass.idleWish, nextWake(in: run.mode))
    let continuous = nextContinuousWake(in: run.mode)
    poller.setContinuousDeadline(continuous)
    // The kernel reports that clock's timer once, and a look since may have had the report.
    if continuous != .max, continuous <= poller.continuousNow { deadline = .min }
    record(.waitBegins(deadline: deadline == .max ? nil : Instant(nanoseconds: deadline)))

    // Either we see what another thread posted before this line, or it sees that we sleep.
    sleeping.store(true, ordering: .sequentiallyConsistent)
    let late =
      mail.isPending || wakes.load(ordering: .sequentiallyConsistent) != pass.seen
      || isStopped(run)
    return late ? .min : deadline
  }

  func wakeFromSleep(_ pass: Pass, into ready: inout [ReadyEvent]) {
    sleeping.store(false, ordering: .sequentiallyConsistent)
    record(.waitEnds)
    state.value.descriptors.hasNews = false
    readMail()
    // What the kernel was told of just now, and has been ready all along, is heard of now.
    if ready.isEmpty, state.value.descriptors.hasNews { poller.wait(until: .min, into: &ready) }
    keepWanted(&ready, in: pass.run.mode)
  }

  /// Whether something waits already that this run would serve, or that ends it.
  func mustNotSleep(_ pass: Pass) -> Bool {
    readMail()
    let run = pass.run
    if wakes.load(ordering: .sequentiallyConsistent) != pass.seen || isStopped(run) { return true }
    if isEmpty(run.mode) { return true }
    if state.value.signals.hasSignal(in: run.mode, of: state.value.modes) { return true }
    return hasBlock(in: run.mode)
  }

  /// Whether a block waits that a run of the mode would run.
  @inline(__always)
  func hasBlock(in mode: ModeTable.Index) -> Bool {
    state.value.blocks.isEmpty ? false : findsBlock(in: mode)
  }

  /// Apart, since the compiler copies a queue to the stack to lend it to another function.
  private func findsBlock(in mode: ModeTable.Index) -> Bool {
    state.value.blocks.hasBlock(
      in: state.value.modes[mode].mode, isCommon: state.value.modes[mode].isCommon)
  }
}

/// A pass under way.
struct Pass {
  let run: Activation
  /// How many wake-ups there had been when it began.
  let seen: UInt64
  /// Whether a signalled source was performed.
  var performed = false
  /// Whether it has announced a wait.
  var waits = false
  /// When idle work wants to go on.
  var idleWish = Int64.max
  /// How many runs there had been when the kernel was asked: what it said has been served by a
  /// nested run since, if there was one.
  var runs = 0
}
