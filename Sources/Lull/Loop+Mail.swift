// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// How other threads reach a loop: they post, and wake it if it sleeps.
extension Loop {
  // MARK: Blocks

  /// Runs `body` once, in the next pass of a run in `mode`; for ``Mode/common``, of any common
  /// mode.
  ///
  /// Blocks run in the order they were queued. One queued by a block waits for the next step of
  /// the pass, and keeps the loop awake until then. A block that is still waiting when the thread
  /// ends is freed unrun.
  ///
  /// > Threads: any. Wakes a sleeping loop, once a burst.
  public func perform(in mode: Mode = .default, _ body: sending @escaping () -> Void) {
    submit(Block(mode, body))
  }

  /// Runs `body` once, in whichever of several modes runs first.
  /// See ``perform(in:_:)-(Loop.Mode,_)``.
  public func perform(in modes: [Mode], _ body: sending @escaping () -> Void) {
    precondition(!modes.isEmpty, "a block without modes would never run; name at least one")
    submit(Block(modes.count > 1 ? .choice(of: modes) : modes[0], body))
  }

  // MARK: Posting

  /// Queues a block; false if the loop's thread has ended.
  @inline(__always)
  @discardableResult
  func submit(_ block: consuming Block) -> Bool {
    guard isCurrent, !hasMail else {
      switch mail.post(block) {
      case .first: wakeIfSleeping()
      case .company: break
      case .closed: return false
      }
      return true
    }
    guard !state.value.isOver else { return false }
    create(block.mode)
    state.value.blocks.append(block)
    wakeIfSleeping()
    return true
  }

  /// A block brings its modes into being, as in CFRunLoop.
  @inline(__always)
  private func create(_ mode: Mode) {
    if mode.isChoice {
      for mode in mode.choices { state.value.modes.create(mode) }
    } else {
      state.value.modes.create(mode)
    }
  }

  /// Does what is asked, now on the loop's thread, else by mail; false if the loop's thread has
  /// ended.
  @discardableResult
  func submit(_ mail: Mail) -> Bool {
    guard isCurrent else { return post(mail) }
    guard !state.value.isOver else { return false }
    // What other threads asked before this comes first. Only what may call handlers anyway reads
    // the mail for that: nobody expects them inside perform(_:).
    switch mail {
    case .signal, .idle: if hasMail { return post(mail) }
    case .add, .addSource, .remove, .addCommonMode: readMail()
    case .retire, .retireSeat, .rearm, .interest: break
    }
    handle(mail)
    // The host's own code, between two turns: what it changed may need one.
    wakeIfSleeping()
    return true
  }

  /// A source of this loop has been signalled.
  func note(_ sequence: UInt64, of seat: Seat) {
    guard isCurrent, !hasMail else { return _ = post(.signal(seat, sequence)) }
    guard !state.value.isOver else { return }
    state.value.signals.append(seat, sequence)
    wakeIfSleeping()
  }

  /// Queues idle work; false if the loop's thread has ended.
  @inline(__always)
  func submit(_ work: IdleWork, followsLatest: Bool) -> Bool {
    guard isCurrent, !hasMail else { return post(.idle(.add(work))) }
    guard !state.value.isOver else { return false }
    idle.admit(work, followsLatest: followsLatest)
    wakeIfSleeping()
    return true
  }

  /// Leaves something for the loop's thread, and wakes it.
  @discardableResult
  func post(_ mail: consuming Mail) -> Bool {
    switch self.mail.post(mail) {
    case .first:
      wakeIfSleeping()
      return true
    case .company: return true
    case .closed: return false
    }
  }

  // MARK: Reading

  /// Does what other threads have asked so far.
  @inline(__always)
  func readMail() {
    if hasMail { readAll() }
  }

  @inline(__always)
  var hasMail: Bool { mail.isPending || !state.value.inbox.isEmpty }

  private func readAll() {
    if state.value.inbox.isEmpty { state.value.inbox.refill(from: mail) }
    // A letter may run the loop, which reads on.
    repeat {
      let known = state.value.blocks.freshCount
      state.value.inbox.moveBlocks(to: &state.value.blocks)
      state.value.blocks.forEachMode(after: known, create)
      if let letter = state.value.inbox.nextLetter() { handle(letter) }
    } while !state.value.inbox.isEmpty
  }

  private func handle(_ mail: consuming Mail) {
    switch mail {
    case .signal(let seat, let sequence): state.value.signals.append(seat, sequence)
    case .add(let item, let mode):
      guard case .granted = item.claim(for: self) else {
        // Invalidated on the way, and never ours: whoever did that lets go of the rest.
        if item.slot < 0 { item.unclaim(from: self) }
        return
      }
      // The kernel took the descriptor when it was handed in; if it went since, so has its user.
      try? admit(item, to: mode)
    case .addSource(let source, let mode): admit(source, to: mode)
    case .remove(let item, let mode): item.removed(from: mode, of: self)
    case .retire(let item): retire(item)
    case .retireSeat(let seat): retire(seat)
    case .rearm(let timer): rearm(timer)
    case .interest(let source): interestChanged(source)
    case .addCommonMode(let mode): makeCommon(mode)
    case .idle(let request): idle.handle(request)
    }
  }

  // MARK: The end

  /// The loop's thread ends: sources are cancelled, everything else is let go, nothing is taken any
  /// more. Runs on that thread.
  func die() {
    readMail()
    // What the handlers below ask of the loop would never be done.
    state.value.isOver = true
    hasEnded.store(true, ordering: .sequentiallyConsistent)
    for seat in state.value.seats.values.sorted(by: {
      $0.membership.sequence < $1.membership.sequence
    }) {
      retire(seat)
    }
    for item in state.value.items.all + state.value.timers.all { abandon(item) }
    idle.die()
    var late = mail.close()
    while let letter = late.nextLetter() { refuse(letter) }
    // Whoever got in before the end takes back what it brought. In a child made by fork there is
    // nobody who could.
    while isOfThisProcess, arrivals.load(ordering: .sequentiallyConsistent) > 0 { yieldThread() }
    // Freed here, on the thread that its closures belong to; what they held may still ask the loop,
    // and finds it empty.
    var last = LoopState()
    last.isOver = true
    swap(&state.value, &last)
  }

  /// What came too late.
  private func refuse(_ mail: Mail) {
    switch mail {
    case .add(let item, _), .retire(let item): if item.isAtHome { item.unclaim(from: self) }
    case .retireSeat(let seat): seat.source.leave(seat)
    case .idle(.add(let work)): idle.end(work, .dropped)
    default: break
    }
    if case .retire(let item) = mail { item.release() }
  }
}
