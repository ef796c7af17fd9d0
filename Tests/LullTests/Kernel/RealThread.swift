// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import Synchronization
import Testing

/// How many times over the stress tests do what they do: the LULL_STRESS of the environment.
let stress = number("LULL_STRESS") ?? 1

/// How long those go on at least that could go on for ever.
let stressTime = Duration.seconds(number("LULL_STRESS_SECONDS") ?? 0)

private func number(_ variable: String) -> Int? {
  unsafe getenv(variable).flatMap { unsafe Int(String(cString: $0)) }
}

/// A thread of the system's own, never one of a pool: its loop ends with it.
final class RealThread: @unchecked Sendable {  // `handle` is written before anyone else has it
  private var handle = pthread_t()
  private let ended = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Void) {
    let start = Start(body, ended)
    let argument = unsafe Unmanaged.passRetained(start).toOpaque()
    let code = unsafe pthread_create(&handle, nil, threadMain, argument)
    precondition(code == 0, "pthread_create: \(code)")
  }

  /// Waits for the end. A thread that hangs is an issue, and left alone.
  func join(_ location: SourceLocation = #_sourceLocation, patience seconds: Int = 60) {
    guard ended.wait(timeout: .now() + .seconds(seconds)) == .success else {
      Issue.record("a thread hangs", sourceLocation: location)
      return
    }
    pthread_join(handle, nil)
  }

  /// Lets it end by itself.
  func detach() { pthread_detach(handle) }

  /// Sends the thread a signal.
  func signal(_ number: CInt) { pthread_kill(handle, number) }

  final class Start {
    let body: @Sendable () -> Void
    let ended: DispatchSemaphore
    init(_ body: @escaping @Sendable () -> Void, _ ended: DispatchSemaphore) {
      self.body = body
      self.ended = ended
    }
  }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let start = unsafe Unmanaged<RealThread.Start>.fromOpaque(argument!).takeRetainedValue()
  if Carrier.isWanted { Loop.current.host = Carrier.make() }
  start.body()
  start.ended.signal()
  return nil
}

/// Runs `body` on a thread of its own, with that thread's loop, and waits for its end.
func onLoopThread(
  _ location: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable (Loop) -> Void
) {
  RealThread { body(Loop.current) }.join(location)
}

/// Runs `body` on so many threads at once and waits for all; each is handed its number.
func onThreads(
  _ count: Int, _ location: SourceLocation = #_sourceLocation, patience seconds: Int = 60,
  _ body: @escaping @Sendable (Int) -> Void
) {
  let threads = (0..<count).map { number in RealThread { body(number) } }
  for thread in threads { thread.join(location, patience: seconds) }
}

/// A thread whose loop runs until it is stopped, kept going by a source that never fires.
final class LoopRunner: Sendable {
  let loop: Loop
  private let thread: RealThread

  init(_ prepare: @escaping @Sendable (Loop) -> Void = { _ in }) {
    let ready = DispatchSemaphore(value: 0)
    let found = Cell<Loop?>(nil)
    thread = RealThread {
      let loop = Loop.current
      loop.add(Loop.Source { _ in }, to: .default)
      prepare(loop)
      found.value = loop
      ready.signal()
      loop.run()
    }
    ready.wait()
    loop = found.value!
  }

  /// Waits until the loop sleeps.
  func untilItWaits() { while !loop.isWaiting { sched_yield() } }

  /// Runs `body` on the loop's thread and waits for it.
  func onLoop(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    loop.perform {
      body()
      done.signal()
    }
    if done.wait(timeout: .now() + .seconds(60)) != .success { Issue.record("the loop hangs") }
  }

  /// Stops the loop and waits for its thread.
  func stop(_ location: SourceLocation = #_sourceLocation) {
    loop.stop()
    thread.join(location)
  }
}

/// A value behind a lock that the thread sanitizer understands.
final class Cell<Value>: @unchecked Sendable {  // `stored` guarded by `lock`
  private let lock = Lock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }

  func update<Result>(_ change: (inout Value) -> Result) -> Result {
    lock.withLock { change(&stored) }
  }
}

/// A number that any thread may raise.
final class Counter: Sendable {
  private let atomic = Atomic<Int>(0)
  var value: Int { atomic.load(ordering: .acquiring) }
  @discardableResult
  func add(_ amount: Int = 1) -> Int {
    atomic.add(amount, ordering: .acquiringAndReleasing).newValue
  }
}

/// Counts how many of them are alive.
final class Tracked: Sendable {
  let alive: Counter
  init(_ alive: Counter) {
    self.alive = alive
    alive.add()
  }
  deinit { alive.add(-1) }
}

/// A non-blocking pipe, closed with the last reference.
final class Pipe: Sendable {
  let reader: CInt
  private let writerEnd: Cell<CInt>
  var writer: CInt { writerEnd.value }

  init() {
    var ends: [CInt] = [-1, -1]
    let code = unsafe pipe2(&ends, O_NONBLOCK | O_CLOEXEC)
    precondition(code == 0, "pipe2: \(errno)")
    reader = ends[0]
    writerEnd = Cell(ends[1])
  }

  deinit {
    close(reader)
    closeWriter()
  }

  func closeWriter() {
    let end = writerEnd.update { end in
      defer { end = -1 }
      return end
    }
    if end >= 0 { close(end) }
  }

  func write(_ count: Int) { writeBytes(writer, count) }
  func read(_ count: Int) -> Int { readBytes(reader, count) }
}

/// Writes so many bytes; how many went in.
@discardableResult
func writeBytes(_ descriptor: CInt, _ count: Int) -> Int {
  let bytes = [UInt8](repeating: 7, count: count)
  return unsafe write(descriptor, bytes, count)
}

/// Reads up to so many bytes; how many came, 0 at the end, -1 if there are none.
@discardableResult
func readBytes(_ descriptor: CInt, _ count: Int) -> Int {
  var bytes = [UInt8](repeating: 0, count: count)
  return unsafe read(descriptor, &bytes, count)
}

/// Numbers that are the same in each run of the tests.
struct Dice: RandomNumberGenerator {
  private var state: UInt64
  init(seed: Int) { state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Passes some time without the scheduler: up to so many looks at the clock.
  mutating func dawdle(_ most: Int) {
    for _ in 0..<Int.random(in: 0...most, using: &self) { _ = Loop.Instant.now }
  }
}
