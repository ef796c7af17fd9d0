// SPDX-License-Identifier: Apache-2.0
import Lull

/// The rule of Texture's ASRunLoopQueue (Source/ASRunLoopQueue.mm): an observer of "before
/// waiting" in the common modes, order 0, takes a batch off the queue, as many items as `batchSize`
/// says, which is one by default; while any are left it signals a source that does nothing and
/// wakes the loop.
///
/// A pass that performs a source announces no wait, so that there is a batch in every other pass.
/// It knows neither what is ready, nor the time, nor frames to come.
struct BatchPerPass: Strategy {
  let name = "batch-per-pass"
  let summary = "Texture's ASRunLoopQueue: a batch before a wait, then a signal"
  /// The items of a batch.
  var batchSize = 1

  @MainActor func begin(_ stage: Stage) -> @MainActor () -> Void {
    let source = Loop.main.makeSource { _ in }
    Loop.main.add(source, to: .common)
    let observer = Loop.main.observe([.beforeWaiting], in: .common, order: 0) { _, _ in
      var leavesMore = stage.hasPieces
      for _ in 0..<batchSize { leavesMore = stage.runNextPiece() }
      if leavesMore { source.signal() }
    }
    source.signal()
    return {
      observer.invalidate()
      source.invalidate()
    }
  }
}
