// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A line on a terminal that says what is being done. Anything but a terminal gets none of it.
final class Progress {
  private let isShown: Bool
  private var next: Nanoseconds = 0

  /// On standard error, so that standard output holds the result and nothing else.
  init(isShown: Bool = isTerminal(STDERR_FILENO)) { self.isShown = isShown }

  /// Shows `text` in place of the line before, at most ten times a second unless it is `important`.
  func show(_ text: @autoclosure () -> String, important: Bool = false) {
    guard isShown else { return }
    let now = monotonicNow()
    guard important || now >= next else { return }
    next = now + 100_000_000
    let width = (terminalWidth(STDERR_FILENO) ?? 80) - 1
    say("\r\u{1B}[K\(text().prefix(width))", to: STDERR_FILENO)
  }

  func clear() {
    if isShown { say("\r\u{1B}[K", to: STDERR_FILENO) }
  }
}
