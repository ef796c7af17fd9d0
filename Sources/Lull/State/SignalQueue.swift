// SPDX-License-Identifier: Apache-2.0

/// The signalled sources of a loop, in whatever modes they are.
///
/// A signal stays until it is performed, here or by another loop that has the source; an entry
/// whose signal has gone is dropped when it is met.
struct SignalQueue: ~Copyable {
  struct Signal {
    /// Kept alive by the queue.
    let seat: Unretained<Loop.Seat>
    fileprivate(set) var sequence: UInt64

    /// Whether it still asks to be performed, in some mode.
    @inline(__always)
    fileprivate var isLive: Bool {
      seat.with {
        !$0.membership.isEmpty && $0.source.isValid && $0.source.awaits(sequence)
      } ?? false
    }

    /// Whether that is one of its modes.
    @inline(__always)
    fileprivate func isIn(_ mode: ModeTable.Index, of modes: borrowing ModeTable) -> Bool {
      seat.with { modes.contains(mode, in: $0.membership.modes) } ?? false
    }
  }

  private var signals = Slab<Signal>()

  deinit { for place in 0..<signals.count { signals[place].seat.release() } }

  @inline(__always)
  var isEmpty: Bool { signals.isEmpty }

  /// Notes a signal of a source, once: it may come to us as it joins its first mode, and again when
  /// the signal's own message arrives.
  mutating func append(_ seat: Loop.Seat, _ sequence: UInt64) {
    guard seat.noted != sequence else { return }
    seat.noted = sequence
    // One source that is signalled again and again: its last signal has been performed. Not so, if
    // that has been announced ahead of this one.
    if signals.count == 1, signals[0].seat.refers(to: seat),
      !seat.source.awaits(signals[0].sequence)
    {
      signals[0].sequence = sequence
      return
    }
    let seat = Unretained(seat)
    seat.retain()
    signals.append(Signal(seat: seat, sequence: sequence))
  }

  /// The signal to perform in `mode` if there is no other at all; nil where it takes more to find
  /// out.
  @inline(__always)
  func only(in mode: ModeTable.Index, of modes: borrowing ModeTable) -> Signal? {
    guard signals.count == 1, signals[0].isLive, signals[0].isIn(mode, of: modes) else {
      return nil
    }
    return signals[0]
  }

  /// Those to perform in `mode`, by order and then by time. They stay until they are performed, so
  /// that a nested run sees what its outer one has not got to.
  ///
  /// What is dropped is handed to `dropped`, to be let go by the caller: a source may go with it,
  /// and its deinit may come back here.
  mutating func due(
    in mode: ModeTable.Index, of modes: borrowing ModeTable, dropped: inout [Loop.Seat]
  ) -> [Loop.Seat] {
    var due: [(seat: Loop.Seat, sequence: UInt64)] = []
    var live = Slab<Signal>()
    for place in 0..<signals.count {
      let signal = signals[place]
      guard let seat = signal.seat.value else { continue }
      if signal.isLive {
        if signal.isIn(mode, of: modes) { due.append((seat, signal.sequence)) }
        live.append(signal)
      } else {
        signal.seat.release()
        dropped.append(seat)
      }
    }
    if live.count < signals.count { swap(&signals, &live) }
    if due.count > 1 {
      due.sort {
        $0.seat.source.order != $1.seat.source.order
          ? $0.seat.source.order < $1.seat.source.order : $0.sequence < $1.sequence
      }
    }
    return due.map(\.seat)
  }

  @inline(__always)
  func hasSignal(in mode: ModeTable.Index, of modes: borrowing ModeTable) -> Bool {
    if signals.count > 1 { return findsSignal(in: mode, of: modes) }
    return !signals.isEmpty && signals[0].isLive && signals[0].isIn(mode, of: modes)
  }

  private func findsSignal(in mode: ModeTable.Index, of modes: borrowing ModeTable) -> Bool {
    for place in 0..<signals.count
    where signals[place].isLive && signals[place].isIn(mode, of: modes) {
      return true
    }
    return false
  }
}
