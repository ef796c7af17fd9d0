// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lull
import Testing

/// Lives on a loop.
private actor Resident {
  let loop: Loop
  private let executor: LoopExecutor
  private(set) var marks: [String] = []
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(on loop: Loop) {
    self.loop = loop
    executor = loop.executor
  }

  /// Both live on one loop: no hop is made between them.
  func mark(_ text: String, on other: Resident) async { await other.mark(text) }

  func mark(_ text: String) {
    #expect(loop.isCurrent)
    marks.append(text)
  }

  /// Each piece notes whether it was one: the report counts it when it has ended.
  func work(_ pieces: Int) async -> [Int] {
    var before: [Int] = []
    for _ in 0..<pieces {
      await loop.idle.lull()
      before.append(loop.idle.report.pieces)
    }
    return before
  }

  func collect(_ numbers: some Sequence<Int> & Sendable) async -> [Int] {
    var all: [Int] = []
    for await number in loop.idle.paced(numbers) {
      #expect(loop.isCurrent)
      all.append(number)
    }
    return all
  }

  func collect(_ stream: AsyncStream<Int>) async -> [Int] {
    var all: [Int] = []
    for await number in loop.idle.paced(stream) { all.append(number) }
    return all
  }
}

@Suite struct `Idle work of asynchronous code` {
  struct Oops: Error {}

  @Test func `runs on the thread of its loop`() async {
    let runner = LoopRunner()
    let resident = Resident(on: runner.loop)
    for number in 0..<3 { await resident.mark("\(number)") }
    let other = Resident(on: runner.loop)
    await other.mark("3", on: resident)
    #expect(await resident.marks == ["0", "1", "2", "3"])
    runner.loop.perform { resident.assumeIsolated { #expect($0.loop.isCurrent) } }
    runner.stop()
  }

  @Test func `traps when the thread of its loop has ended`() async {
    await #expect(processExitsWith: .failure) {
      let runner = LoopRunner()
      let resident = Resident(on: runner.loop)
      runner.stop()
      await resident.mark("never")
    }
  }

  @Test func `is pieces between its lulls`() async {
    let runner = LoopRunner()
    let resident = Resident(on: runner.loop)
    // What comes after a lull is part of the piece: at each, one piece more has ended.
    let before = await resident.work(5)
    #expect(before == [0, 1, 2, 3, 4])
    runner.stop()
  }

  @Test func `gets the elements of a sequence, each in a lull`() async {
    let runner = LoopRunner()
    let resident = Resident(on: runner.loop)
    #expect(await resident.collect(0..<10) == Array(0..<10))
    let stream = AsyncStream<Int> { stream in
      for number in 0..<5 { stream.yield(number) }
      stream.finish()
    }
    #expect(await resident.collect(stream) == Array(0..<5))
    runner.onLoop { #expect(runner.loop.idle.report.pieces == 15) }
    runner.stop()
  }

  @Test func `does not wait for a lull in a task that is cancelled`() async {
    let runner = LoopRunner()
    let resident = Resident(on: runner.loop)
    // Paused while the user drags, which it does for ever here.
    let tracking = DispatchSemaphore(value: 0)
    runner.loop.perform {
      runner.loop.addCommonMode(.eventTracking)
      runner.loop.schedule(after: .seconds(600), in: .eventTracking) { _ in }
      tracking.signal()
      _ = runner.loop.run(in: .eventTracking)
    }
    tracking.wait()
    let task = Task { await runner.loop.idle.lull(options: .init(tracking: .pause)) }
    task.cancel()
    await task.value
    runner.loop.stop()
    await resident.mark("on")
    #expect(runner.loop.idle.count == 0)
    runner.stop()
  }

  @Test func `of a loop that has ended goes on at once`() async {
    let runner = LoopRunner()
    let loop = runner.loop
    runner.stop()
    await loop.idle.lull()
    #expect(loop.idle.count == 0)
  }

  // MARK: Ends

  @Test func `is told an end it waits for`() async {
    let runner = LoopRunner()
    let work = runner.loop.idle.forEach(0..<3) { _, _ in .continue }
    #expect(name(await work.value) == "finished")
    #expect(name(await work.value) == "finished")
    runner.stop()
  }

  @Test func `raises work that it waits for, and cancels it with its task`() async {
    let runner = LoopRunner()
    let wait = DispatchSemaphore(value: 0)
    let held = DispatchSemaphore(value: 0)
    runner.loop.perform {
      held.signal()
      wait.wait()
    }
    held.wait()
    let work = runner.loop.idle.forEach(0..<1_000_000, options: .init(priority: .low)) { _, _ in
      .continue
    }
    let task = Task(priority: .high) { await work.value }
    // The task has asked when its letter is there; the loop is held until the task is cancelled.
    task.cancel()
    wait.signal()
    #expect(name(await task.value) == "cancelled")
    #expect(runner.loop.idle.count == 0)
    runner.stop()
  }

  @Test func `raises work by the priority of its task`() async {
    let runner = LoopRunner()
    let work = runner.loop.idle.perform(key: 0, options: .init(priority: .low)) {
      // Goes on until it has been raised.
      .more
    }
    let task = Task(priority: .high) { await work.value }
    while work.priority != .high { await Task.yield() }
    work.cancel()
    #expect(name(await task.value) == "cancelled")
    runner.stop()
  }

  @Test func `ends with its owner`() async {
    let runner = LoopRunner()
    var owner: IdleOwner? = IdleOwner()
    let works = (0..<100).map { number in
      runner.loop.idle.perform(key: number) { .nothing(until: .distantFuture) }
        .owned(by: owner!)
    }
    let other = runner.loop.idle.perform(key: "other") { .nothing(until: .distantFuture) }
    owner = nil
    for work in works { #expect(name(await work.value) == "cancelled") }
    #expect(other.end == nil)
    other.cancel()
    #expect(name(await other.value) == "cancelled")
    runner.stop()
  }

  // MARK: Elsewhere and back

  @Test func `commits what was made elsewhere on the loop`() async {
    let runner = LoopRunner()
    let committed = Cell<[Int]>([])
    let works = (0..<10).map { number in
      runner.loop.idle.offload(key: "square") {
        #expect(!runner.loop.isCurrent)
        return number * number
      } then: { square in
        #expect(runner.loop.isCurrent)
        committed.value.append(square)
      }
    }
    for work in works { #expect(name(await work.value) == "finished") }
    #expect(committed.value.sorted() == (0..<10).map { $0 * $0 })
    #expect(runner.loop.idle.count == 0)
    runner.stop()
  }

  @Test func `stops what is made for a loop that has ended, where it is cancelled`() async {
    let (gate, open) = AsyncStream<Void>.makeStream()
    let wasCancelled = Cell(false)
    let runner = LoopRunner()
    let work = runner.loop.idle.offload(key: 0) {
      for await _ in gate {}
      wasCancelled.value = Task.isCancelled
    } then: {
      Issue.record("there is no loop to commit it")
    }
    runner.stop()
    work.cancel()
    // A task that is cancelled gets no more from the stream.
    #expect(name(await work.value) == "cancelled")
    #expect(wasCancelled.value)
    open.finish()
  }

  @Test func `waits from when it was made, not from when that began`() async throws {
    let runner = LoopRunner()
    let loop = runner.loop
    let (gate, open) = AsyncStream<Void>.makeStream()
    let (made, committed) = (Cell<Loop.Instant?>(nil), Cell<Loop.Instant?>(nil))
    let began = loop.now
    let work = loop.idle.offload(key: 0) {
      for await _ in gate {}
      made.value = loop.now
    } then: {
      committed.value = loop.now
    }
    loop.add(Loop.Timer(at: began.advanced(by: .milliseconds(40))) { _ in open.finish() })
    #expect(name(await work.value) == "finished")
    let waited = Cell(Duration.zero)
    runner.onLoop { waited.value = loop.idle.report.longestWait }
    let (end, start) = (try #require(committed.value), try #require(made.value))
    #expect(began.duration(to: start) >= .milliseconds(40))
    // The clock that it is noted by is behind by a tick at most.
    #expect(waited.value <= start.duration(to: end) + .milliseconds(10))
    runner.stop()
  }

  @Test func `never commits what was cancelled`() async {
    let runner = LoopRunner()
    let (gate, open) = AsyncStream<Void>.makeStream()
    let wasCancelled = Cell(false)
    let work = runner.loop.idle.offload(key: 0) {
      for await _ in gate {}
      wasCancelled.value = Task.isCancelled
      return 1
    } then: { _ in
      Issue.record("committed after it was cancelled")
    }
    work.cancel()
    #expect(name(await work.value) == "cancelled")
    open.finish()
    while !wasCancelled.value { await Task.yield() }
    runner.onLoop {}
    #expect(runner.loop.idle.count == 0)
    runner.stop()
  }

  @Test func `is told what its making threw, and what its commit threw`() async {
    let runner = LoopRunner()
    let making = runner.loop.idle.offload(key: 0) { () throws -> Int in
      throw Oops()
    } then: { _ in
      Issue.record("there was nothing to commit")
    }
    let commit = runner.loop.idle.offload(key: 0) {
      1
    } then: { _ in
      throw Oops()
    }
    for work in [making, commit] {
      guard case .failed(let error) = await work.value else {
        Issue.record("it should have failed")
        continue
      }
      #expect(error is Oops)
    }
    runner.onLoop { #expect(runner.loop.idle.report.failures == 2) }
    runner.stop()
  }

  @Test func `drops what was made for a loop that has ended`() async {
    let runner = LoopRunner()
    let loop = runner.loop
    let (gate, open) = AsyncStream<Void>.makeStream()
    let work = loop.idle.offload(key: 0) {
      for await _ in gate {}
      return 1
    } then: { _ in
      Issue.record("the loop has ended")
    }
    runner.stop()
    open.finish()
    #expect(name(await work.value) == "dropped")
    #expect(loop.idle.count == 0)
  }
}
