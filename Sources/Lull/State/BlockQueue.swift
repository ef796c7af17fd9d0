// SPDX-License-Identifier: Apache-2.0

/// A block that waits to run once, in the first run of its mode, or of one of several.
///
/// Its closure is called and dropped on the loop's thread, wherever it was made.
struct Block: @unchecked Sendable {  // handed over whole, and called on one thread
  let body: () -> Void
  /// Possibly a choice of several.
  let mode: Loop.Mode

  init(_ mode: Loop.Mode, _ body: @escaping () -> Void) { (self.mode, self.body) = (mode, body) }

  /// Whether it runs in a mode; the common pseudo-mode stands for its members of the moment.
  @inline(__always)
  func runs(in running: Loop.Mode, isCommon: Bool) -> Bool {
    mode.isChoice
      ? mode.choices.contains { $0 == running || (isCommon && $0 == .common) }
      : mode == running || (isCommon && mode == .common)
  }
}

/// The blocks of a loop, first in first out; those of other modes keep their place and wait.
struct BlockQueue: ~Copyable {
  /// What no step has looked at yet.
  private var fresh = Ring<Block>()
  /// What steps in other modes have passed over; older than all that is fresh.
  private var parked = Ring<Block>()
  /// What the parked wait for, each once: they are looked at only where one of them could run.
  private var parkedModes: [Loop.Mode] = []
  /// Empty; kept for its storage.
  private var spare = Ring<Block>()

  @inline(__always)
  var isEmpty: Bool { fresh.isEmpty && parked.isEmpty }

  @inline(__always)
  mutating func append(_ block: consuming Block) { fresh.append(block) }

  /// Takes so many blocks from the front of a ring: all at once where that is possible.
  mutating func append(contentsOf ring: inout Ring<Block>, count: Int) {
    if fresh.isEmpty, count == ring.count { return swap(&fresh, &ring) }
    for _ in 0..<count { fresh.append(ring.removeFirst()) }
  }

  /// Calls `body` with the mode of each block that is new since the first `count`.
  @inline(__always)
  func forEachMode(after count: Int, _ body: (Loop.Mode) -> Void) {
    var last: Loop.Mode?
    for index in count..<fresh.count where fresh[index].mode != last {
      last = fresh[index].mode
      body(fresh[index].mode)
    }
  }

  /// How many no step has looked at yet.
  var freshCount: Int { fresh.count }

  func hasBlock(in mode: Loop.Mode, isCommon: Bool) -> Bool {
    if parkedModes.contains(where: { $0 == mode || (isCommon && $0 == .common) }) { return true }
    for index in 0..<fresh.count where fresh[index].runs(in: mode, isCommon: isCommon) {
      return true
    }
    return false
  }

  // MARK: Steps

  /// The block of a step that has only one, as when each queues the next; nil where it takes more
  /// to find out.
  @inline(__always)
  mutating func takeOnly(in mode: Loop.Mode) -> Block? {
    guard fresh.count == 1, parked.isEmpty, fresh[0].mode == mode else {
      return nil
    }
    return fresh.removeFirst()
  }

  /// Whether the oldest is for this mode, at a glance.
  @inline(__always)
  func begins(with mode: Loop.Mode) -> Bool {
    parked.isEmpty && !fresh.isEmpty && fresh[0].mode == mode
  }

  /// One step of a pass in one mode: all that was queued when it began.
  struct Step: ~Copyable {
    fileprivate var queue = Ring<Block>()
    /// Passed over: before, and not worth a look in this mode; or in this step.
    fileprivate var parked = Ring<Block>()
    fileprivate var parkedModes: [Loop.Mode] = []

    /// The next block to run. Asked each time whether the mode is common: an earlier block may have
    /// made it so.
    @inline(__always)
    mutating func next(in mode: Loop.Mode, isCommon: Bool) -> Block? {
      while !queue.isEmpty {
        let block = queue.removeFirst()
        if block.runs(in: mode, isCommon: isCommon) { return block }
        park(block)
      }
      return nil
    }

    @inline(never)
    fileprivate mutating func park(_ block: consuming Block) {
      for mode in block.mode.choices where !parkedModes.contains(mode) { parkedModes.append(mode) }
      parked.append(block)
    }
  }

  /// Takes all there is: what is queued from now on belongs to a later step, and a nested run does
  /// not see what the one around it has begun with.
  @inline(__always)
  mutating func beginStep(in mode: Loop.Mode, isCommon: Bool) -> Step {
    var step = Step()
    swap(&step.queue, &spare)
    swap(&step.queue, &fresh)
    if !parked.isEmpty { takeParked(&step, mode, isCommon) }
    return step
  }

  private mutating func takeParked(_ step: inout Step, _ mode: Loop.Mode, _ isCommon: Bool) {
    swap(&step.parked, &parked)
    swap(&step.parkedModes, &parkedModes)
    guard step.parkedModes.contains(where: { $0 == mode || (isCommon && $0 == .common) }) else {
      return
    }
    // The oldest first: they are gone through again, with what is fresh after them.
    swap(&step.parked, &step.queue)
    step.parked.moveAll(to: &step.queue)
    step.parkedModes = []
  }

  /// What did not run goes back, ahead of what was queued meanwhile.
  @inline(__always)
  mutating func endStep(_ step: consuming Step) {
    if !step.parked.isEmpty { takeBack(&step) }
    swap(&spare, &step.queue)
  }

  private mutating func takeBack(_ step: inout Step) {
    while !parked.isEmpty { step.park(parked.removeFirst()) }
    swap(&parked, &step.parked)
    swap(&parkedModes, &step.parkedModes)
  }
}
