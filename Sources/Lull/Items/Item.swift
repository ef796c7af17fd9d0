// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

extension Loop {
  /// What a loop serves: a ``Timer``, ``Source``, ``DescriptorSource`` or ``Observer``.
  ///
  /// An item is made first and added to modes of a loop after; the loop keeps it until it is
  /// removed or invalidated. Timers, descriptor sources and observers belong to one loop at a time,
  /// sources may be in several.
  public class Item: @unchecked Sendable {  // `home` says which thread may touch the rest
    let valid = Atomic<Bool>(true)

    /// The thread of the loop that has this item; `nobody`, or `taken` for a few instructions.
    fileprivate let home = Atomic<UInt>(Item.nobody)
    private static let nobody: UInt = 0
    private static let taken: UInt = 1

    /// The loop behind `home`. Written only with `home` taken.
    fileprivate(set) var loop: Loop?
    /// Its modes there. Touched on the loop's thread only.
    var membership = Membership()
    /// Its place among the loop's items, or -1.
    var slot: Int32 = -1
    /// Whether its handlers are of the main actor. Set before anyone else has it.
    var isForMain = false

    init() {}

    /// Whether it can still be called. Once false, false for ever. Any thread.
    public final var isValid: Bool { valid.load(ordering: .acquiring) }

    /// Ends it: it leaves all its modes and its handlers are freed. Doing so again changes nothing.
    ///
    /// Any thread. No callout begins after this returns; one that runs on the loop's thread
    /// meanwhile goes on. From the loop's own thread everything has happened at return; from others
    /// the loop frees the handlers on its own thread soon after, awake or not.
    public final func invalidate() {
      guard valid.exchange(false, ordering: .acquiringAndReleasing) else { return }
      retire()
    }

    /// What has to happen after `valid` went, wherever the item is.
    func retire() {
      while true {
        let home = home.load(ordering: .acquiring)
        if home == currentThread {
          loop!.retire(self)
          return
        }
        if home == Item.nobody {
          if take(from: Item.nobody) {
            release()
            self.home.store(Item.nobody, ordering: .releasing)
            return
          }
        } else if let owner = owner {
          if owner.post(.retire(self)) { return }
          sched_yield()  // The loop's thread is ending and will let go of it in a moment.
        }
      }
    }

    /// Frees the handlers. On the loop's thread, or with `home` taken.
    func release() {}

    // MARK: Whose it is

    /// The loop that has it, from any thread.
    final var owner: Loop? {
      while true {
        let home = home.load(ordering: .acquiring)
        if home == Item.nobody { return nil }
        if home == currentThread { return loop }
        if home != Item.taken, take(from: home) {
          let owner = loop
          self.home.store(home, ordering: .releasing)
          return owner
        }
        sched_yield()
      }
    }

    /// Whether the calling thread is the one of the loop that has it.
    @inline(__always)
    final var isAtHome: Bool { home.load(ordering: .acquiring) == currentThread }

    enum Claim { case granted, invalid, elsewhere }

    /// Makes `loop` its owner, unless another loop is.
    final func claim(for loop: Loop) -> Claim {
      while true {
        let home = home.load(ordering: .acquiring)
        if home == loop.thread { return isValid ? .granted : .invalid }
        if home == Item.nobody {
          guard take(from: Item.nobody) else { continue }
          let granted = isValid
          if granted { self.loop = loop }
          self.home.store(granted ? loop.thread : Item.nobody, ordering: .releasing)
          return granted ? .granted : .invalid
        }
        if home != Item.taken { return .elsewhere }
        sched_yield()
      }
    }

    /// Ends the claim of the loop of `thread`: on that thread, or when it has ended.
    final func unclaim(from thread: UInt) {
      while !take(from: thread) { sched_yield() }
      loop = nil
      home.store(Item.nobody, ordering: .releasing)
    }

    private func take(from expected: UInt) -> Bool {
      home.compareExchange(
        expected: expected, desired: Item.taken, ordering: .acquiringAndReleasing
      ).exchanged
    }
  }

  /// An item's modes on one loop.
  struct Membership {
    /// The modes it is in.
    var modes: ModeTable.SetID = 0
    /// Whether it joins every mode that becomes common.
    var isCommon = false
    /// When it was added, among the items of the loop.
    var sequence: UInt64 = 0

    /// Whether the loop has it at all.
    var isEmpty: Bool { modes == 0 && !isCommon }
  }
}
