// SPDX-License-Identifier: Apache-2.0

extension Model {
  package func run(in mode: Mode, polls: Bool, returnsAfterSource: Bool) -> Outcome {
    if mode == .common || isEmpty(mode) { return .finished }
    push(Activation(mode: mode, polls: polls, returnsAfterSource: returnsAfterSource))
    notify(.entry)
    var outcome = takeStop()
    while outcome == nil { outcome = pass() }
    notify(.exit)
    pop()
    return outcome!
  }

  private func pass() -> Outcome? {
    innermost.ignoresWakes = false
    innermost.seenWake = wakeSequence
    notify(.beforeTimers)
    notify(.beforeSources)
    runBlocks()
    let handled = performSources()
    if handled { runBlocks() }
    let sleeps = willSleep(handled)
    if sleeps { notify(.beforeWaiting) }
    let woken = wait(sleeps: sleeps)
    innermost.ignoresWakes = true
    if sleeps { notify(.afterWaiting) }
    serve(woken)
    runBlocks()
    return verdict(handled)
  }

  // MARK: Runs

  private func push(_ run: Activation) {
    activations.append(run)
    if let reason = keptStops.removeValue(forKey: activations.count) {
      innermost.isStopped = choose(reason, cf: false, lull: true)
    }
  }

  private func pop() {
    if innermost.isStopped { keptStops[activations.count] = .unreportedStopStays }
    activations.removeLast()
  }

  private func takeStop() -> Outcome? {
    guard innermost.isStopped else { return nil }
    innermost.isStopped = false
    return .stopped
  }

  private func verdict(_ handled: Bool) -> Outcome? {
    if handled && innermost.returnsAfterSource { return .handledSource }
    if innermost.polls { return .timedOut }
    return takeStop() ?? (isEmpty(innermost.mode) ? .finished : nil)
  }

  // MARK: Callouts

  private func notify(_ activity: Activity) {
    let mode = innermost.mode
    let told = modes[mode]!.observers.filter {
      observers[$0].activities & activity.rawValue != 0 && !observers[$0].isFiring
    }
    for index in told where observers[index].isValid {
      let isThere = observers[index].modes.contains(mode)
      guard choose(.removedIsNotCalled, cf: true, lull: isThere) else { continue }
      observers[index].isFiring = true
      callbacks.observed(observer: index, activity)
      if !observers[index].repeats { invalidate(.observer(index)) }
      observers[index].isFiring = false
    }
  }

  /// Runs the blocks for the mode. The queue is detached meanwhile: blocks that are queued now, or
  /// looked for by a nested run, are not among these; those left over go to its front.
  private func runBlocks() {
    let detached = blocks
    blocks = []
    var left: [Block] = []
    for block in detached {
      if isMeant(block, for: innermost.mode) { block.body() } else { left.append(block) }
    }
    blocks = left + blocks
  }

  /// Performs the signalled sources of the mode and says whether the pass handled a source.
  private func performSources() -> Bool {
    let mode = innermost.mode
    let signalled = sources.indices.filter {
      sources[$0].signal != nil && sources[$0].modes.contains(mode)
    }.sorted { (sources[$0].order, sources[$0].signal!) < (sources[$1].order, sources[$1].signal!) }
    var (any, last) = (false, false)
    for index in signalled {
      last = perform(index, in: mode)
      any = any || last
      if last && innermost.returnsAfterSource { break }
    }
    return choose(.handledIsOr, cf: last, lull: any)
  }

  private func perform(_ index: Int, in mode: Mode) -> Bool {
    guard sources[index].signal != nil else { return false }
    let isThere = sources[index].modes.contains(mode)
    guard choose(.removedIsNotCalled, cf: true, lull: isThere) else { return false }
    sources[index].signal = nil
    callbacks.performed(source: index)
    return true
  }

  // MARK: Waiting and serving

  private enum Woken { case byNothing, byWakeUp, byTimer }

  private func willSleep(_ handled: Bool) -> Bool {
    guard !handled && !innermost.polls else { return false }
    return choose(.emptyEndsRun, cf: true, lull: !isEmpty(innermost.mode))
  }

  private func wait(sleeps: Bool) -> Woken {
    let mode = innermost.mode
    if sleeps && !isAwake(mode) { sleep(mode) }
    if let armed = modes[mode]!.armed, armed <= tick {
      modes[mode]!.armed = nil
      wakeLatch = choose(.passServesAll, cf: wakeLatch, lull: false)
      return .byTimer
    }
    let woken = wakeLatch
    wakeLatch = false
    return woken ? .byWakeUp : .byNothing
  }

  /// Whether the loop must not sleep, though timers do not say so.
  private func isAwake(_ mode: Mode) -> Bool {
    let wasWoken = innermost.isStopped || wakeSequence != innermost.seenWake
    let hasWork =
      sources.contains { $0.signal != nil && $0.modes.contains(mode) }
      || blocks.contains { isMeant($0, for: mode) }
    var awake = wakeLatch
    awake = choose(.outerWakesSurvive, cf: awake, lull: awake || wasWoken)
    awake = choose(.noStaleWake, cf: awake, lull: awake && wasWoken)
    awake = choose(.pendingWorkKeepsAwake, cf: awake, lull: awake || hasWork)
    return choose(.emptyEndsRun, cf: awake, lull: awake || isEmpty(mode))
  }

  /// Lets time pass until a timer, or until another thread helps.
  private func sleep(_ mode: Mode) {
    let armed = modes[mode]!.armed
    let next = nextDeadline(mode)
    var until = armed
    if let armed, next.map({ armed < $0 }) ?? true {
      until = choose(.noStaleWake, cf: armed, lull: next)
    } else if armed != next {
      until = choose(.noMissedTimer, cf: armed, lull: next)
    }
    modes[mode]!.armed = until
    if let until { tick = max(tick, until) } else { callbacks.sleepsForEver() }
  }

  /// Fires timers if they woke the loop; Lull does so if any is due, whatever woke it.
  private func serve(_ woken: Woken) {
    let due = dueTimers(innermost.mode)
    if choose(.passServesAll, cf: woken == .byTimer && !due.isEmpty, lull: !due.isEmpty) {
      fire(due)
    } else if woken == .byTimer {
      rearm(innermost.mode)
    }
  }
}
