// SPDX-License-Identifier: Apache-2.0

/// A block that waits to run once, in the first run of one of its modes.
///
/// Its closure is called and dropped on the loop's thread, wherever it was made.
struct Block: @unchecked Sendable {  // handed over whole, and called on one thread
  enum Modes: Sendable {
    case one(Loop.Mode)
    case several([Loop.Mode])
  }

  let modes: Modes
  let body: () -> Void

  /// Whether it runs in `mode`; the common pseudo-mode stands for its members of the moment.
  func runs(in mode: Loop.Mode, isCommon: Bool) -> Bool {
    switch modes {
    case .one(let own): own == mode || (isCommon && own == .common)
    case .several(let own): own.contains { $0 == mode || (isCommon && $0 == .common) }
    }
  }
}

/// The blocks of a loop, first in first out; those of other modes keep their place and wait.
struct BlockQueue: ~Copyable {
  private var blocks: [Block] = []

  var isEmpty: Bool { blocks.isEmpty }

  mutating func append(_ block: Block) { blocks.append(block) }

  /// Takes the whole queue: what is queued from now on belongs to a later step.
  mutating func detach() -> [Block] {
    var taken: [Block] = []
    swap(&taken, &blocks)
    return taken
  }

  /// Puts back those that did not run, ahead of what was queued meanwhile.
  mutating func reattach(_ rest: [Block]) {
    guard !rest.isEmpty else { return }
    blocks = rest + blocks
  }

  func hasBlock(in mode: Loop.Mode, isCommon: Bool) -> Bool {
    blocks.contains { $0.runs(in: mode, isCommon: isCommon) }
  }
}
