// SPDX-License-Identifier: Apache-2.0

import Lull
import LullTesting
import Testing

@Suite struct `A mailbox` {
  private func mailbox(
    _ timeline: Timeline, limit: Int = .max, order: Int = 0
  ) -> Loop.Mailbox<Int> {
    Loop.Mailbox(limit: limit, order: order) { _, values in timeline.mark("\(values)") }
  }

  @Test func `delivers what has come since, in order, by one wake-up`() throws {
    try withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let mailbox = mailbox(timeline)
      loop.add(mailbox)
      try mailbox.send(1)
      try mailbox.send(2)
      time.after(.milliseconds(1)) { for value in 3...6 { try? mailbox.send(value) } }
      time.after(.milliseconds(3)) { try? mailbox.send(7) }
      _ = loop.run(in: .default, for: .milliseconds(4))
      #expect(
        timeline.text == "[1, 2] sleep +1 wake [3, 4, 5, 6] sleep +2 wake [7] sleep +1 wake")
    }
  }

  @Test func `keeps what came before it was added`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let mailbox = mailbox(timeline)
      for value in 1...3 { try mailbox.send(value) }
      loop.add(mailbox)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "[1, 2, 3]")
    }
  }

  @Test func `takes its place by order among signalled sources`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let last = mailbox(timeline, order: 1)
      let first = Loop.Source(order: -1) { _ in timeline.mark("source") }
      let middle = mailbox(timeline)
      for source in [last, first, middle] { loop.add(source) }
      try last.send(9)
      try middle.send(5)
      first.signal()
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "source [5] [9]")
    }
  }

  /// S12: it is a source.
  @Test func `is a source that a run can return after`() {
    withVirtualLoop { loop, time in
      let timeline = Timeline(of: loop)
      let mailbox = mailbox(timeline)
      loop.add(mailbox)
      time.after(.milliseconds(1)) { try? mailbox.send(1) }
      let first = loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true)
      #expect(first == .handledSource)
      let second = loop.run(in: .default, for: .milliseconds(1), returnAfterSourceHandled: true)
      #expect(second == .timedOut)
      mailbox.invalidate()
      #expect(loop.run(in: .default, for: .seconds(1)) == .finished)
      #expect(timeline.text == "sleep +1 wake [1] sleep +1 wake")
    }
  }

  @Test func `waits with what it has while none of its modes runs`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      loop.keepAlive(in: .first)
      let mailbox = mailbox(timeline)
      loop.add(mailbox, to: .common)
      try mailbox.send(1)
      #expect(loop.run(in: .first, for: .milliseconds(1)) == .timedOut)
      loop.addCommonMode(.first)
      try mailbox.send(2)
      _ = loop.run(in: .first, for: .zero)
      loop.remove(mailbox, from: .common)
      try mailbox.send(3)
      _ = loop.run(in: .first, for: .zero)
      #expect(!loop.contains(mailbox, in: .default))
      loop.add(mailbox)
      #expect(loop.contains(mailbox, in: .default))
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "sleep +1 wake [1, 2] [3]")
    }
  }

  @Test func `leaves what its own handler sends for the next pass`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let mailbox = Loop.Mailbox<Int> { mailbox, values in
        timeline.mark("\(values)")
        if values[0] < 3 { try? mailbox.send(values[0] + 1) } else { loop.stop() }
      }
      loop.add(mailbox)
      try mailbox.send(1)
      #expect(loop.run() == .stopped)
      #expect(timeline.text == "[1] [2] [3]")
    }
  }

  @Test func `delivers in a nested run what came after its handler began`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let mailbox = Loop.Mailbox<Int> { mailbox, values in
        timeline.mark("\(values)")
        guard values[0] < 10 else { return }
        for value in 0...1 { try? mailbox.send(values[0] * 10 + value) }
        _ = loop.run(in: .default, for: .zero)
        timeline.mark("\(values)")
      }
      loop.add(mailbox)
      try mailbox.send(1)
      try mailbox.send(2)
      _ = loop.run(in: .default, for: .zero)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "[1, 2] [10, 11] [1, 2]")
    }
  }

  @Test func `gives batches that may be kept`() throws {
    try withVirtualLoop { loop, _ in
      let batches = Shared<[[Int]]>([])
      let mailbox = Loop.Mailbox<Int> { _, values in batches.value.append(values) }
      loop.add(mailbox)
      for value in 1...5 {
        try mailbox.send(value)
        try mailbox.send(-value)
        _ = loop.run(in: .default, for: .zero)
      }
      #expect(batches.value == (1...5).map { [$0, -$0] })
    }
  }

  @Test func `refuses what would exceed its limit, and loses nothing`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let mailbox = mailbox(timeline, limit: 2)
      loop.add(mailbox)
      for round in 0..<3 {
        try mailbox.send(round)
        try mailbox.send(round)
        for _ in 0..<2 {
          #expect(throws: Loop.MailboxError.full) { try mailbox.send(99) }
        }
        _ = loop.run(in: .default, for: .zero)
      }
      #expect(timeline.text == "[0, 0] [1, 1] [2, 2]")
    }
  }

  // MARK: The end

  @Test func `is closed by invalidation, and drops what waits`() throws {
    let alive = Counter()
    try withVirtualLoop { loop, _ in
      let held = Tracked(alive)
      let mailbox = Loop.Mailbox<Tracked> { _, _ in _ = held }
      loop.add(mailbox)
      for _ in 0..<10 { try mailbox.send(Tracked(alive)) }
      mailbox.invalidate()
      #expect(throws: Loop.MailboxError.closed) { try mailbox.send(Tracked(alive)) }
      #expect(mailbox.count == 0)
    }
    #expect(alive.value == 0)
  }

  @Test func `is closed when its loop's thread ends, in a mode or not`() throws {
    let alive = Counter()
    let added = Loop.Mailbox<Tracked> { _, _ in }
    let removed = Loop.Mailbox<Tracked> { _, _ in }
    try withVirtualLoop { loop, _ in
      loop.add(added)
      loop.add(removed)
      loop.remove(removed, from: .default)
      try added.send(Tracked(alive))
    }
    #expect(alive.value == 0)
    #expect(!added.isValid)
    #expect(throws: Loop.MailboxError.closed) { try added.send(Tracked(alive)) }
    #expect(throws: Loop.MailboxError.closed) { try removed.send(Tracked(alive)) }
  }

  @Test func `that nobody keeps is kept by its loop until it has delivered`() throws {
    let alive = Counter()
    try withVirtualLoop { loop, _ in
      let count = Shared(0)
      do {
        let mailbox = Loop.Mailbox<Tracked> { mailbox, values in
          count.value += values.count
          mailbox.invalidate()
        }
        loop.add(mailbox)
        for _ in 0..<3 { try mailbox.send(Tracked(alive)) }
      }
      #expect(loop.run() == .finished)
      #expect(count.value == 3)
      #expect(alive.value == 0)
    }
  }

  @Test func `that was never added frees what it has`() throws {
    let alive = Counter()
    do {
      let held = Tracked(alive)
      let mailbox = Loop.Mailbox<Tracked> { _, _ in _ = held }
      try mailbox.send(Tracked(alive))
      #expect(alive.value == 2)
    }
    #expect(alive.value == 0)
  }

  private final class Letter {
    var text = ""
  }

  @Test func `takes values of no isolation`() throws {
    try withVirtualLoop { loop, _ in
      let timeline = Timeline(of: loop)
      let mailbox = Loop.Mailbox<Letter> { _, letters in timeline.mark(letters[0].text) }
      loop.add(mailbox)
      let letter = Letter()
      letter.text = "dear"
      try mailbox.send(letter)
      _ = loop.run(in: .default, for: .zero)
      #expect(timeline.text == "dear")
    }
  }

  // MARK: Misuse

  @Test func `in a second loop traps`() async {
    await #expect(processExitsWith: .failure) {
      let mailbox = Loop.Mailbox<Int> { _, _ in }
      withVirtualLoop { loop, _ in loop.add(mailbox) }
      withVirtualLoop { loop, _ in loop.add(mailbox) }
    }
  }

  @Test func `for nothing at all traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = Loop.Mailbox<Int>(limit: 0) { _, _ in }
    }
  }

  @Test func `of the main actor in another loop traps`() async {
    await #expect(processExitsWith: .failure) {
      let mailbox = Loop.main.makeMailbox(of: Int.self) { _, _ in }
      withVirtualLoop { loop, _ in loop.add(mailbox) }
    }
  }
}
