// SPDX-License-Identifier: Apache-2.0

/// A block that waits to run once, in the first run of one of its modes.
///
/// Its closure is called and dropped on the loop's thread, wherever it was made.
struct Block: @unchecked Sendable {  // handed over whole, and called on one thread
  enum Modes: Sendable, Equatable {
    case one(Loop.Mode)
    case several([Loop.Mode])

    /// Whether `mode` is meant; the common pseudo-mode stands for its members of the moment.
    @inline(__always)
    func include(_ mode: Loop.Mode, isCommon: Bool) -> Bool {
      switch self {
      case .one(let own): own == mode || (isCommon && own == .common)
      case .several(let own): own.contains { $0 == mode || (isCommon && $0 == .common) }
      }
    }
  }

  let modes: Modes
  let body: () -> Void
}

/// The blocks of a loop, first in first out; those of other modes keep their place and wait.
struct BlockQueue: ~Copyable {
  /// What no step has looked at yet.
  private var fresh = Ring<Block>()
  /// What steps in other modes have passed over; older than all that is fresh.
  private var parked = Ring<Block>()
  /// What the parked wait for, each once: they are looked at only where one of them could run.
  private var parkedModes: [Block.Modes] = []
  /// Empty; kept for its storage.
  private var spare = Ring<Block>()

  @inline(__always)
  var isEmpty: Bool { fresh.isEmpty && parked.isEmpty }

  @inline(__always)
  mutating func append(_ block: consuming Block) { fresh.append(block) }

  func hasBlock(in mode: Loop.Mode, isCommon: Bool) -> Bool {
    if isEmpty { return false }
    if parkedModes.contains(where: { $0.include(mode, isCommon: isCommon) }) { return true }
    for index in 0..<fresh.count where fresh[index].modes.include(mode, isCommon: isCommon) {
      return true
    }
    return false
  }

  // MARK: Steps

  /// One step of a pass in one mode: all that was queued when it began.
  struct Step: ~Copyable {
    /// Passed over before, and not worth a look in this mode.
    fileprivate var parked = Ring<Block>()
    fileprivate var queue = Ring<Block>()
    /// Passed over in this step.
    fileprivate var rest = Ring<Block>()
    fileprivate var parkedModes: [Block.Modes] = []

    /// The next block to run. Asked each time whether the mode is common: an earlier block may have
    /// made it so.
    @inline(__always)
    mutating func next(in mode: Loop.Mode, isCommon: Bool) -> Block? {
      while !queue.isEmpty {
        let block = queue.removeFirst()
        if block.modes.include(mode, isCommon: isCommon) { return block }
        rest.append(block)
      }
      return nil
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
    guard step.parkedModes.contains(where: { $0.include(mode, isCommon: isCommon) }) else { return }
    swap(&step.parked, &step.queue)
    step.parked.moveAll(to: &step.queue)
    step.parkedModes = []
  }

  /// What did not run goes back, ahead of what was queued meanwhile.
  @inline(__always)
  mutating func endStep(_ step: consuming Step) {
    if !step.rest.isEmpty || !step.parked.isEmpty { park(&step) }
    swap(&spare, &step.queue)
  }

  private mutating func park(_ step: inout Step) {
    for index in 0..<step.rest.count where !step.parkedModes.contains(step.rest[index].modes) {
      step.parkedModes.append(step.rest[index].modes)
    }
    for modes in parkedModes where !step.parkedModes.contains(modes) {
      step.parkedModes.append(modes)
    }
    step.rest.moveAll(to: &step.parked)
    parked.moveAll(to: &step.parked)
    swap(&parked, &step.parked)
    swap(&parkedModes, &step.parkedModes)
  }
}
