// SPDX-License-Identifier: Apache-2.0

/// The signalled sources of a loop, in whatever modes they are.
///
/// A signal stays until it is performed, here or by another loop that has the source; an entry
/// whose signal has gone is dropped when it is met.
struct SignalQueue: ~Copyable {
  struct Signal {
    let seat: Loop.Seat
    let sequence: UInt64

    /// Whether it still asks to be performed, in some mode.
    var isLive: Bool {
      !seat.membership.isEmpty && seat.source.isValid && seat.source.awaits(sequence)
    }
  }

  private var signals: [Signal] = []

  @inline(__always)
  var isEmpty: Bool { signals.isEmpty }

  /// Notes a signal of a source, once: it may come to us as it joins its first mode, and again when
  /// the signal's own message arrives.
  mutating func append(_ seat: Loop.Seat, _ sequence: UInt64) {
    guard seat.noted != sequence else { return }
    seat.noted = sequence
    // One source that is signalled again and again: its last signal has been performed. Not so, if
    // that has been announced ahead of this one.
    if signals.count == 1, signals[0].seat === seat, !seat.source.awaits(signals[0].sequence) {
      signals.removeLast()
    }
    signals.append(Signal(seat: seat, sequence: sequence))
  }

  /// The signal to perform in `mode` if there is no other at all; nil where it takes more to find
  /// out.
  @inline(__always)
  func only(in mode: ModeTable.Index, of modes: borrowing ModeTable) -> Signal? {
    guard signals.count == 1, signals[0].isLive,
      modes.contains(mode, in: signals[0].seat.membership.modes)
    else { return nil }
    return signals[0]
  }

  /// Those to perform in `mode`, by order and then by time. They stay until they are performed, so
  /// that a nested run sees what its outer one has not got to.
  ///
  /// What is dropped is handed to `dropped`, to be let go by the caller: a source may go with it,
  /// and its deinit may come back here.
  mutating func due(
    in mode: ModeTable.Index, of modes: borrowing ModeTable, dropped: inout [Signal]
  ) -> [Signal] {
    guard !signals.isEmpty else { return [] }
    var due: [Signal] = []
    var live: [Signal] = []
    for signal in signals where signal.isLive {
      if modes.contains(mode, in: signal.seat.membership.modes) { due.append(signal) }
      live.append(signal)
    }
    if live.count < signals.count {
      swap(&signals, &live)
      dropped = live
    }
    if due.count > 1 {
      due.sort {
        $0.seat.source.order != $1.seat.source.order
          ? $0.seat.source.order < $1.seat.source.order : $0.sequence < $1.sequence
      }
    }
    return due
  }

  func hasSignal(in mode: ModeTable.Index, of modes: borrowing ModeTable) -> Bool {
    if signals.isEmpty { return false }
    for signal in signals
    where signal.isLive && modes.contains(mode, in: signal.seat.membership.modes) {
      return true
    }
    return false
  }
}
