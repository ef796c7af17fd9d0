// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// An input source that is signalled by hand: the way to hand a loop an event from anywhere.
  ///
  /// Signalled any number of times before it is performed, it is performed once. Signalled sources
  /// are performed by ascending ``order``, then in the order they were signalled. It may be in
  /// several loops; the first to get there performs it.
  ///
  /// > Threads: any. Handlers run on the thread of the loop in question.
  public class Source: Item, @unchecked Sendable {
    /// What a source calls; it is handed the source.
    public typealias Handler = @Sendable (Source) -> Void

    /// What a source calls when it joins or leaves a mode of a loop.
    public typealias ModeHandler = @Sendable (Source, Loop, Mode) -> Void

    /// Lower orders are performed first.
    public final let order: Int

    private let signalled = Atomic<UInt64>(0)
    /// The signals of the process are in one order, so that loops agree with CFRunLoop's times.
    private static let signals = Atomic<UInt64>(0)

    private let lock = Lock()
    /// Guarded by `lock`.
    private let box = Box(Guarded())
    private final var guarded: Place<Guarded> { box.place }
    /// The thread of the one loop that has it, since it had none; 0 if there are several. That
    /// thread finds its seat without the lock.
    private let onlyThread = Atomic<UInt>(0)

    private struct Guarded: ~Copyable {
      /// One a loop.
      var seats: [Seat] = []
      /// Freed when it is invalid and has no seat any more, so that a loop in which it sits may
      /// read them without the lock.
      var handlers: Handlers?
      /// The seat of `onlyThread`, touched by that thread.
      var only = Unretained<Seat>(nil)
    }

    struct Handlers {
      let perform: Handler
      let schedule: ModeHandler?
      let cancel: ModeHandler?
    }

    /// A source that calls `perform` in a loop after it was signalled.
    ///
    /// - Parameters:
    ///   - order: Its place among sources signalled in the same pass, lowest first.
    ///   - schedule: Called for each mode it joins, also when a mode becomes common later.
    ///   - cancel: Called for each mode it leaves: removed, invalidated, or its loop's thread
    ///     ended.
    ///   - perform: Called once a signal, on the loop's thread.
    public init(
      order: Int = 0, schedule: ModeHandler? = nil, cancel: ModeHandler? = nil,
      _ perform: @escaping Handler
    ) {
      self.order = order
      super.init()
      guarded.value.handlers = Handlers(perform: perform, schedule: schedule, cancel: cancel)
    }

    /// Whether a signal waits to be performed. Any thread.
    public final var isSignalled: Bool { signalled.load(ordering: .acquiring) != 0 }

    /// Asks to be performed, and wakes the loops it is in. A second signal before that changes
    /// nothing, nor does one on an invalid source.
    ///
    /// Any thread, not in signal handlers. Allocates nothing.
    public final func signal() {
      if let sequence = noteSignal() { announce(sequence) }
    }

    /// Signals it and tells nobody yet; nil if that changes nothing.
    final func noteSignal() -> UInt64? {
      guard isValid, !isSignalled else { return nil }
      let sequence = Source.signals.wrappingAdd(1, ordering: .relaxed).newValue
      let noted = signalled.compareExchange(
        expected: 0, desired: sequence, ordering: .sequentiallyConsistent
      ).exchanged
      return noted ? sequence : nil
    }

    /// Tells its loops of a signal.
    final func announce(_ sequence: UInt64) {
      // After the signal: a second loop clears the word before it looks for signals.
      if onlyThread.load(ordering: .sequentiallyConsistent) == currentThread {
        guarded.value.only.with { $0.loop.note(sequence, of: $0) }
        return
      }
      // The usual source is in one loop, and a copied array would be an allocation.
      var only: Seat?
      var several: [Seat] = []
      lock.lock()
      if guarded.value.seats.count == 1 {
        only = guarded.value.seats[0]
      } else {
        several = guarded.value.seats
      }
      lock.unlock()
      if let only { return only.loop.note(sequence, of: only) }
      for seat in several { seat.loop.note(sequence, of: seat) }
    }

    override var kind: ItemKind { .source(self) }

    override func removed(from mode: Mode, of loop: Loop) { loop.dismiss(self, from: mode) }

    override func retire() {
      signalled.store(0, ordering: .releasing)
      let (seats, freed): ([Seat], Handlers?) = lock.withLock {
        let seats = guarded.value.seats
        return (seats, seats.isEmpty ? guarded.value.handlers.take() : nil)
      }
      _ = freed  // Let go outside the lock.
      for seat in seats { seat.loop.submit(.retireSeat(seat)) }
    }

    // MARK: For its loops

    /// A loop is about to have it. Any thread.
    func joins(_ loop: Loop) {}

    /// What it calls, while it is valid or has modes left to leave.
    final var calls: Handlers? { lock.withLock { guarded.value.handlers } }

    /// What it calls when it is performed. On the thread of a loop in which it has a seat.
    final var performer: Handler? { guarded.value.handlers?.perform }

    /// Whether the signal that came as `sequence` still waits.
    @inline(__always)
    final func awaits(_ sequence: UInt64) -> Bool {
      signalled.load(ordering: .acquiring) == sequence
    }

    /// Which signal waits; 0 for none.
    final var signalSequence: UInt64 { signalled.load(ordering: .sequentiallyConsistent) }

    /// Takes the signal, which from then on may come again. Of several loops one gets it.
    @discardableResult
    final func takeSignal() -> Bool { signalled.exchange(0, ordering: .acquiringAndReleasing) != 0 }

    /// Its seat in a loop, made if `make`; none when it is invalid.
    final func seat(in loop: Loop, make: Bool) -> Seat? {
      lock.withLock {
        if let seat = guarded.value.seats.first(where: { $0.loop === loop }) { return seat }
        guard make, isValid else { return nil }
        let seat = Seat(self, loop)
        if guarded.value.seats.isEmpty { guarded.value.only = Unretained(seat) }
        onlyThread.store(
          guarded.value.seats.isEmpty ? loop.thread : 0, ordering: .sequentiallyConsistent)
        guarded.value.seats.append(seat)
        return seat
      }
    }

    /// Gives a seat up; the last one of an invalid source frees the handlers.
    final func leave(_ seat: Seat) {
      let freed: Handlers? = lock.withLock {
        guarded.value.seats.removeAll { $0 === seat }
        if guarded.value.only.refers(to: seat) {
          guarded.value.only = Unretained(nil)
          onlyThread.store(0, ordering: .sequentiallyConsistent)
        }
        guard guarded.value.seats.isEmpty, !isValid else { return nil }
        return guarded.value.handlers.take()
      }
      // Whatever the handlers held is let go here, outside the lock.
      _ = freed
    }
  }

  /// A source's place in one loop.
  final class Seat: @unchecked Sendable {  // its variables are touched on the loop's thread only
    let source: Source
    let loop: Loop
    var membership = Membership()
    /// When it was added to the common modes, in the order of additions.
    var commonSince: UInt64 = 0
    /// The latest of its signals that has been in the loop's queue; 0 for none.
    var noted: UInt64 = 0

    init(_ source: Source, _ loop: Loop) {
      self.source = source
      self.loop = loop
    }
  }
}
