// SPDX-License-Identifier: Apache-2.0

import CAllocations
import Dispatch
import Glibc
import Lull
import Testing

@Suite struct `Mailboxes between threads` {
  private struct Letter: Sendable {
    let sender: Int
    let number: Int
  }

  private func expectAll(
    _ letters: [Letter], senders: Int, each: Int, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(letters.count == senders * each, sourceLocation: location)
    for sender in 0..<senders {
      let numbers = letters.filter { $0.sender == sender }.map(\.number)
      #expect(numbers == Array(0..<each), "sender \(sender)", sourceLocation: location)
    }
  }

  /// What arrives, and a signal once it is all.
  private final class Arrivals: Sendable {
    let letters = Cell<[Letter]>([])
    let longest = Cell(0)
    private let all = DispatchSemaphore(value: 0)
    private let expected: Int
    init(expected: Int) { self.expected = expected }

    func take(_ batch: [Letter]) {
      longest.update { $0 = max($0, batch.count) }
      let count = letters.update { letters in
        letters += batch
        return letters.count
      }
      if count == expected { all.signal() }
    }

    func untilAll() -> Bool { all.wait(timeout: .now() + .seconds(60)) == .success }
  }

  @Test(arguments: [1, 4])
  func `deliver everything once and in each sender's order`(senders: Int) throws {
    let thread = try LoopThread()
    let each = 5_000 * stress
    let arrivals = Arrivals(expected: senders * each)
    let mailbox = Loop.Mailbox<Letter> { _, letters in arrivals.take(letters) }
    thread.loop.add(mailbox)
    onThreads(senders) { sender in
      for number in 0..<each { try? mailbox.send(Letter(sender: sender, number: number)) }
    }
    #expect(arrivals.untilAll())
    expectAll(arrivals.letters.value, senders: senders, each: each)
    thread.stop()
    thread.join()
  }

  @Test func `with a limit refuse, and deliver all that they took`() throws {
    let thread = try LoopThread()
    let (senders, each) = (3, 2_000 * stress)
    let arrivals = Arrivals(expected: senders * each)
    let mailbox = Loop.Mailbox<Letter>(limit: 8) { _, letters in arrivals.take(letters) }
    thread.loop.add(mailbox)
    onThreads(senders) { sender in
      for number in 0..<each {
        while true {
          do throws(Loop.MailboxError) {
            try mailbox.send(Letter(sender: sender, number: number))
            break
          } catch {
            #expect(error == .full)
            sched_yield()
          }
        }
      }
    }
    #expect(arrivals.untilAll())
    expectAll(arrivals.letters.value, senders: senders, each: each)
    #expect(arrivals.longest.value <= 8)
    thread.stop()
    thread.join()
  }

  /// A value sent as the last batch is being taken must neither be slept over nor count as a source
  /// that was handled without a call.
  @Test func `are never slept over, and count as handled when the handler was called`() throws {
    let rounds = 5_000 * stress
    let calls = Counter()
    let handled = Counter()
    let arrived = DispatchSemaphore(value: 0)
    let mailbox = Loop.Mailbox<Int> { _, values in
      #expect(!values.isEmpty)
      calls.add()
      for _ in values { arrived.signal() }
    }
    let thread = RealThread {
      let loop = Loop.current
      loop.add(mailbox)
      while loop.run(in: .default, until: .distantFuture, returnAfterSourceHandled: true)
        == .handledSource
      { handled.add() }
    }
    onThreads(2) { sender in
      var dice = Dice(seed: sender)
      for _ in 0..<rounds / 2 {
        try? mailbox.send(1)
        if arrived.wait(timeout: .now() + .seconds(30)) != .success {
          Issue.record("a value was slept over")
          return
        }
        dice.dawdle(50)
      }
    }
    mailbox.invalidate()
    thread.join()
    #expect(calls.value == handled.value)
  }

  @Test func `can be closed at any moment`() throws {
    for round in 0..<100 * stress {
      let alive = Counter()
      let taken = Counter()
      let thread = try LoopThread()
      let mailbox = Loop.Mailbox<Tracked> { _, values in taken.add(values.count) }
      thread.loop.add(mailbox)
      let sender = RealThread {
        do throws(Loop.MailboxError) {
          while true { try mailbox.send(Tracked(alive)) }
        } catch {
          #expect(error == .closed)
        }
      }
      var dice = Dice(seed: round)
      dice.dawdle(300)
      if round % 2 == 0 { mailbox.invalidate() } else { thread.stop() }
      sender.join()
      thread.stop()
      thread.join()
      mailbox.invalidate()
      #expect(alive.value == 0)
    }
  }

  /// A pass of a loop allocates a little itself, so this is what a mailbox costs more than a
  /// source.
  @Test func `allocate nothing in the long run`() {
    guard test_allocations() >= 0 else { return }
    onLoopThread { loop in
      let sum = Counter()
      let source = Loop.Source { _ in sum.add(100) }
      let mailbox = Loop.Mailbox<Int> { _, values in sum.add(values.count) }
      for item in [source, mailbox] { loop.add(item) }

      func run(_ count: Int, _ cause: () -> Void) {
        for _ in 0..<count {
          cause()
          _ = loop.run(in: .default, for: .zero)
        }
      }
      func allocations(_ cause: () -> Void) -> Int {
        // Until all that is kept has room: both buffers for a burst, and what a pass needs.
        run(3, cause)
        let before = test_allocations()
        test_count_allocations(true)
        run(200, cause)
        test_count_allocations(false)
        return test_allocations() - before
      }
      func send() { for _ in 0..<100 { try? mailbox.send(1) } }
      let passes = allocations { source.signal() }
      let deliveries = allocations(send)
      let counted = allocations { loop.perform { [mailbox, source] in _ = (mailbox, source) } }
      #expect(deliveries == passes)
      #expect(counted >= 200, "what surely allocates is not counted")
      #expect(sum.value == 406 * 100)
    }
  }
}
