// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LullCommand

/// A frame is due every 10 units from 0 on, and a column is a unit or ten.
@Suite struct PictureTests {
  private static let unit: Nanoseconds = 1_000_000

  private func timeline(
    end: Nanoseconds, frames: [(Nanoseconds, Nanoseconds)] = [],
    pieces: [(Nanoseconds, Nanoseconds)] = [], input: [(Nanoseconds, Nanoseconds)] = []
  ) -> Timeline {
    func stretch(_ start: Nanoseconds, _ end: Nanoseconds) -> Stretch {
      Stretch(start: start * Self.unit, end: end * Self.unit)
    }
    var result = Timeline(firstDue: 0, period: 10 * Self.unit, end: end * Self.unit)
    result.frames = frames.map(stretch)
    result.pieces = pieces.map(stretch)
    result.input = input.map { InputEvent(sent: $0 * Self.unit, handling: stretch($0, $1)) }
    return result
  }

  private func text(_ cells: [Cell]) -> String { String(cells.map(\.glyph)) }

  private func span(_ end: Nanoseconds) -> Stretch { Stretch(start: 0, end: end * Self.unit) }

  @Test func `The close-up shows frames, pieces by turns, and input`() {
    let run = timeline(
      end: 20, frames: [(0, 4), (10, 14)], pieces: [(4, 6), (6, 8)], input: [(16, 17)])
    #expect(text(Picture.closeUp(of: run, over: span(20), columns: 20)) == "████▒▒░░  ████  •   ")
    #expect(text(Picture.ruler(of: run, over: span(20), columns: 20)) == "╷         ╷         ")
  }

  @Test func `A late frame is marked where it was due`() {
    let run = timeline(end: 20, frames: [(0, 4), (13, 17)], pieces: [(4, 13)])
    #expect(text(Picture.closeUp(of: run, over: span(20), columns: 20)) == "████▒▒▒▒▒▒!▒▒▓▓▓▓   ")
  }

  @Test func `What is outside the close-up is not drawn`() {
    let run = timeline(end: 40, frames: [(0, 4), (10, 14), (20, 24), (30, 34)])
    let middle = Stretch(start: 10 * Self.unit, end: 30 * Self.unit)
    #expect(text(Picture.closeUp(of: run, over: middle, columns: 20)) == "████      ████      ")
  }

  @Test func `The overview is low where frames are on time and full where one is missed`() {
    let run = timeline(end: 60, frames: [(0, 4), (10, 14), (45, 49), (50, 54)])
    let cells = Picture.delays(of: run, over: span(80), columns: 8)
    #expect(text(cells) == "▁▁███▁  ")
    #expect(cells.prefix(6).map(\.color) == [.onTime, .onTime, .late, .late, .late, .onTime])
  }

  @Test func `The overview's height is the delay by the period`() {
    let run = timeline(end: 30, frames: [(0, 4), (15, 19), (20, 24)])
    #expect(text(Picture.delays(of: run, over: span(30), columns: 3)) == "▁▅▁")
  }

  @Test func `A column without a frame shows what the one before it does`() {
    let run = timeline(end: 20, frames: [(0, 4), (10, 14)])
    #expect(text(Picture.delays(of: run, over: span(20), columns: 10)) == "▁▁▁▁▁▁▁▁▁▁")
  }

  @Test func `Work is shaded by the share of time it took`() {
    let run = timeline(end: 50, pieces: [(0, 1), (10, 15), (20, 28), (30, 40)])
    #expect(text(Picture.work(of: run, over: span(50), columns: 5)) == "░▒▓█ ")
  }
}
