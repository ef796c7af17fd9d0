// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// What a loop serves: a ``Timer``, ``Source``, ``DescriptorSource`` or ``Observer``; a
  /// ``Mailbox``, ``SignalSource`` or ``ProcessSource`` is a source of a special kind.
  ///
  /// An item is made first and added to modes of a loop after; the loop keeps it until it is
  /// removed or invalidated. Timers, descriptor sources and observers belong to one loop at a time,
  /// sources may be in several.
  public class Item: @unchecked Sendable {  // `home` says which thread may touch the rest
    // In the order of their sizes, so that a timer is small.

    /// The thread of the loop that has this item, or `nobody`; with the bit `taken` for the few
    /// instructions in which another thread looks at `loop`. The loop's own thread never waits for
    /// that bit to find out that it is at home.
    fileprivate let home = Atomic<UInt>(Item.nobody)
    private static let nobody: UInt = 0
    private static let taken: UInt = 1

    /// The loop behind `home`. Written only with `home` taken; it lets go of its items before it
    /// goes itself.
    fileprivate(set) final var loop = Unretained<Loop>(nil)
    /// Its modes there. Touched on the loop's thread only.
    final var membership = Membership()
    let valid = Atomic<Bool>(true)
    /// What it was made for. Set before anyone else has it.
    final var traits: Traits = []
    /// In its handler, which may give it to another loop meanwhile.
    private let firing = Atomic<Bool>(false)
    /// Its place among the loop's items, or timers; -1 if it has none.
    final var slot: Int32 = -1

    init() {}

    /// Which kind of item it is.
    var kind: ItemKind { preconditionFailure("an item is of one of four kinds") }

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
        if isAtHome { return loop.with { $0.retire(self) }! }
        if let owner = owner {
          if owner.post(.retire(self)) { return }
          yieldThread()  // The loop's thread is ending and will let go of it in a moment.
        } else if take(from: Item.nobody) {
          release()
          home.store(Item.nobody, ordering: .releasing)
          return
        }
      }
    }

    /// Frees the handlers. On the loop's thread, or with `home` taken.
    func release() {}

    /// It is taken out of a mode, or of the common modes. On the thread of `loop`.
    func removed(from mode: Mode, of loop: Loop) { loop.dismiss(self, from: mode) }

    /// When it was added to the common modes, in the order of additions; known exactly where the
    /// order in a mode can be told, which is that of observers.
    var commonSince: UInt64 {
      get { membership.sequence }
      set {}
    }

    /// `loop` is to keep it, and gives it a slot. On its thread, as all below.
    func enters(_ loop: Loop) { slot = loop.state.value.items.insert(self) }

    /// `loop` lets go of it.
    func leaves(_ loop: Loop) {
      let slot = slot
      self.slot = -1
      loop.state.value.items.remove(slot)
    }

    /// It is in one more mode of `loop` than those it was in, and does what that takes.
    func joined(
      _ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop
    ) throws(SystemError) {}

    /// It is in one mode less.
    func left(_ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop) {}

    @inline(__always)
    final var isFiring: Bool {
      get { firing.load(ordering: .relaxed) }
      set { firing.store(newValue, ordering: .relaxed) }
    }

    // MARK: Whose it is

    /// The loop that has it, from any thread.
    final var owner: Loop? {
      while true {
        if isAtHome { return loop.value }
        let home = home.load(ordering: .acquiring)
        if home == Item.nobody { return nil }
        if take(from: home) {
          let owner = loop.value
          self.home.store(home, ordering: .releasing)
          return owner
        }
        yieldThread()
      }
    }

    /// Whether the calling thread is the one of the loop that has it.
    @inline(__always)
    final var isAtHome: Bool {
      home.load(ordering: .acquiring) & ~Item.taken == currentThread
    }

    /// Whether `loop`, which is the calling thread's, has it.
    @inline(__always)
    final func belongs(to loop: Loop) -> Bool { isAtHome && self.loop.refers(to: loop) }

    enum Claim { case granted, invalid, elsewhere }

    /// Makes `loop` its owner, unless another loop is.
    @inline(__always)
    final func claim(for loop: Loop) -> Claim {
      if belongs(to: loop) { return isValid ? .granted : .invalid }
      if take(from: Item.nobody) { return settle(with: loop) }
      return claimSlowly(for: loop)
    }

    /// What is taken, and was nobody's, becomes `loop`'s if it is valid.
    @inline(__always)
    private func settle(with loop: Loop) -> Claim {
      let granted = isValid
      if granted { self.loop = Unretained(loop) }
      home.store(granted ? loop.thread : Item.nobody, ordering: .releasing)
      return granted ? .granted : .invalid
    }

    private func claimSlowly(for loop: Loop) -> Claim {
      while true {
        if belongs(to: loop) { return isValid ? .granted : .invalid }
        let home = home.load(ordering: .acquiring)
        if home == Item.nobody {
          if take(from: Item.nobody) { return settle(with: loop) }
          continue
        }
        if take(from: home) {
          // A loop that has ended may have had a thread of the same name.
          let isOurs = self.loop.refers(to: loop)
          self.home.store(home, ordering: .releasing)
          if isOurs { return isValid ? .granted : .invalid }
          return .elsewhere
        }
        yieldThread()
      }
    }

    /// Ends the claim of `loop`, if it still has one: on its thread, or when that has ended.
    @inline(__always)
    final func unclaim(from loop: Loop) {
      if take(from: loop.thread) { return vacate(loop, home: loop.thread) }
      unclaimSlowly(from: loop)
    }

    /// What is taken is nobody's, if it was `loop`'s.
    @inline(__always)
    private func vacate(_ loop: Loop, home: UInt) {
      let isOurs = self.loop.refers(to: loop)
      if isOurs { self.loop = Unretained(nil) }
      self.home.store(isOurs ? Item.nobody : home, ordering: .releasing)
    }

    private func unclaimSlowly(from loop: Loop) {
      while true {
        let home = home.load(ordering: .acquiring)
        guard home & ~Item.taken == loop.thread else { return }
        if take(from: loop.thread) { return vacate(loop, home: home) }
        yieldThread()
      }
    }

    /// Takes an item that is not taken.
    @inline(__always)
    private func take(from home: UInt) -> Bool {
      home & Item.taken == 0
        && self.home.compareExchange(
          expected: home, desired: home | Item.taken, ordering: .acquiringAndReleasing
        ).exchanged
    }
  }

  /// What an item was made for.
  struct Traits: OptionSet {
    let rawValue: UInt8
    /// Its handlers are of the main actor.
    static let forMain = Traits(rawValue: 1)
    /// Its dates are of the clock that counts suspend.
    static let continuous = Traits(rawValue: 2)
  }

  /// The kinds of items, for what differs between them.
  enum ItemKind {
    case timer(Timer)
    case source(Source)
    case descriptor(DescriptorSource)
    case observer(Observer)
  }

  /// An item's modes on one loop.
  struct Membership {
    /// When it was added, among the items of the loop.
    var sequence: UInt64 = 0
    /// The modes it is in.
    var modes: ModeTable.SetID = 0
    /// Whether it joins every mode that becomes common.
    var isCommon = false

    /// Whether the loop has it at all.
    var isEmpty: Bool { modes == 0 && !isCommon }
  }
}
