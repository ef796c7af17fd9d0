// SPDX-License-Identifier: Apache-2.0

/// Timelines as rows of characters. Each mark is told by its shape as well as by its colour.
enum Picture {
  /// The whole run: for each column how late the latest frame was, by height.
  ///
  /// A low bar is a column in which every frame was on time; a full one is a delay of a frame or
  /// more.
  static func delays(of timeline: Timeline, over span: Stretch, columns: Int) -> [Cell] {
    let bars = Array("▁▂▃▄▅▆▇█")
    var worst: [Nanoseconds?] = Array(repeating: nil, count: columns)
    for due in timeline.framesDue {
      // A frame that was missed belongs to the whole time until the next one.
      let first = column(of: due.due, in: span, columns: columns)
      let last = due.isLate ? column(of: due.due + due.delay, in: span, columns: columns) : first
      guard first < columns else { continue }
      for column in max(0, first)...min(max(first, last), columns - 1) {
        worst[column] = max(worst[column] ?? 0, due.delay)
      }
    }
    // With fewer frames than columns, a column without one shows what the one before it does.
    var shown: Nanoseconds?
    return worst.enumerated().map { index, delay in
      if moment(of: index, in: span, columns: columns) >= timeline.end {
        return Cell(glyph: " ", color: nil)
      }
      shown = delay ?? shown
      guard let shown else { return Cell(glyph: " ", color: nil) }
      guard shown > FrameDue.lateness else { return Cell(glyph: bars[0], color: .onTime) }
      let share = min(1, Double(shown) / Double(timeline.period))
      return Cell(glyph: bars[1 + Int((share * 6).rounded())], color: .late)
    }
  }

  /// The whole run: for each column how much of it pieces took.
  static func work(of timeline: Timeline, over span: Stretch, columns: Int) -> [Cell] {
    let shades = Array(" ░▒▓█")
    var pieces = timeline.pieces[...]
    return (0..<columns).map { column in
      let slice = Stretch(
        start: moment(of: column, in: span, columns: columns),
        end: moment(of: column + 1, in: span, columns: columns))
      while let piece = pieces.first, piece.end <= slice.start { pieces.removeFirst() }
      let inside = pieces.prefix { $0.start < slice.end }
      let taken = inside.reduce(0) { $0 + $1.overlap(slice) }
      guard taken > 0, slice.length > 0 else { return Cell(glyph: " ", color: nil) }
      let share = Double(taken) / Double(slice.length)
      return Cell(glyph: shades[max(1, min(4, Int((share * 4).rounded())))], color: .piece)
    }
  }

  /// A short time, close up: what the main thread does in each column.
  ///
  /// `█` is a frame on time and `▓` a late one, with a `!` where it was due.
  /// Pieces are `▒` and `░` by turns, and `•` is input.
  static func closeUp(of timeline: Timeline, over span: Stretch, columns: Int) -> [Cell] {
    var cells = Array(repeating: Cell(glyph: " ", color: nil), count: columns)
    func fill(_ stretch: Stretch, _ cell: Cell) {
      guard stretch.end > span.start, stretch.start < span.end else { return }
      let first = max(0, column(of: stretch.start, in: span, columns: columns))
      // As many columns as it is long, to the nearest; the shortest still gets one.
      let last = max(first, column(of: stretch.end, in: span, columns: columns, up: true))
      for column in first...max(first, min(last, columns) - 1) where column < columns {
        cells[column] = cell
      }
    }
    for (index, piece) in timeline.pieces.enumerated() {
      fill(piece, Cell(glyph: index % 2 == 0 ? "▒" : "░", color: .piece))
    }
    for event in timeline.input {
      fill(event.handling, Cell(glyph: "•", color: .input))
    }
    for due in timeline.framesDue {
      if let frame = due.frame {
        fill(frame, Cell(glyph: due.isLate ? "▓" : "█", color: due.isLate ? .late : .onTime))
      }
      // Where it should have begun.
      if due.isLate {
        fill(Stretch(start: due.due, end: due.due + 1), Cell(glyph: "!", color: .late))
      }
    }
    return cells
  }

  /// Where frames are due in a close-up.
  static func ruler(of timeline: Timeline, over span: Stretch, columns: Int) -> [Cell] {
    var cells = Array(repeating: Cell(glyph: " ", color: nil), count: columns)
    for due in timeline.framesDue where due.due >= span.start && due.due < span.end {
      cells[column(of: due.due, in: span, columns: columns)] = Cell(glyph: "╷", color: .faint)
    }
    return cells
  }

  /// The column a moment is in; not bounded.
  private static func column(
    of moment: Nanoseconds, in span: Stretch, columns: Int, up: Bool = false
  ) -> Int {
    let place = Double(moment - span.start) / Double(max(1, span.length)) * Double(columns)
    return Int(up ? place.rounded() : place.rounded(.down))
  }

  /// The moment a column begins.
  private static func moment(of column: Int, in span: Stretch, columns: Int) -> Nanoseconds {
    span.start + span.length * Nanoseconds(column) / Nanoseconds(max(1, columns))
  }
}
