// SPDX-License-Identifier: Apache-2.0

internal import CLull
internal import Glibc
internal import Synchronization

/// A run loop: it serves the input sources, timers and observers of one thread, and sleeps when
/// there is nothing to do.
///
/// A thread has at most one, made when it first asks for ``current``; the main thread's is
/// ``main``. A loop runs only when its own thread's code runs it, in one ``Mode`` at a time, and
/// serves what belongs to that mode. It ends with its thread.
///
/// ```swift
/// let loop = Loop.current
/// loop.schedule(every: .seconds(1)) { timer in print("tick") }
/// switch loop.run(in: .default, for: .seconds(10)) {
/// case .timedOut: print("ten seconds are over")
/// case .finished, .stopped, .handledSource: break
/// }
/// ```
///
/// Start reading at `Loop+Pass.swift`: one pass is one function.
///
/// > Threads: adding, removing, signalling, ``perform(in:_:)-(Loop.Mode,_)``, ``stop()`` and
/// > ``wakeUp()`` may be called from any thread; runs and questions about contents only from the
/// > loop's own, and trap elsewhere.
public final class Loop: @unchecked Sendable {  // `state` belongs to `thread`, the rest is atomic
  /// The word of the one thread that may touch `state`.
  let thread: UInt
  let isMain: Bool
  let poller: any Poller
  /// Whether the clock is a test's.
  let isVirtual: Bool
  let state = Box(LoopState())

  // What other threads, and signal handlers, may touch.
  let mail = MailQueue()
  /// Counts wake-ups: a pass that finds more than it began with does not sleep.
  let wakes = Atomic<UInt64>(0)
  /// Set around a wait. Whoever clears it has to wake the poller.
  let sleeping = Atomic<Bool>(false)
  /// A bit for each level of nested runs that was asked to stop, the last of them for all deeper;
  /// and the bit `everyRun`, which stays.
  let stops = Atomic<UInt64>(0)
  /// How many runs are on the stack.
  let level = Atomic<Int>(0)
  let runningMode = Atomic<Int32>(-1)
  /// The thread has ended, or is about to: nothing is delivered any more.
  let hasEnded = Atomic<Bool>(false)
  /// How many other threads are about to hand an item over.
  let arrivals = Atomic<Int>(0)
  private let generation = lull_fork_generation()

  /// Work for when the loop would otherwise sleep. Any thread.
  public var idle: IdleQueue { IdleQueue(loop: self) }
  let idleCounts = IdleCounts()
  /// An object of its own: reached through the queue's reference to the loop, a change of it would
  /// look to the thread sanitizer like one of the loop.
  let idleState = SharedBox(IdleState())

  init(thread: UInt, isMain: Bool, poller: any Poller) {
    self.thread = thread
    self.isMain = isMain
    self.poller = poller
    isVirtual = !(poller is KernelPoller)
    let modes: [Mode] = isMain ? [.default, .modalPanel, .eventTracking] : [.default]
    for mode in modes {
      let index = state.value.modes.index(of: mode)
      state.value.modes.makeCommon(index)
      state.value.modes.create(index)
    }
  }

  /// Only a second loop of a thread still has items then; the others have let go of theirs as
  /// their threads ended.
  deinit {
    for item in state.value.items.all + state.value.timers.all { item.unclaim(from: self) }
  }

  // MARK: The loop of a thread

  /// The main thread's loop, from any thread. Its closures run on the main actor.
  ///
  /// It runs when the main thread's code runs it. An `async` main function leaves the main thread
  /// on Linux: give the program a synchronous one.
  public static let main = MainLoop(
    loop: Loop(thread: mainThread, isMain: true, poller: KernelPoller()))

  private static var mainThread: UInt {
    let thread = lull_main_thread()
    if thread != 0 { return thread }
    // Loaded late, into a running program, on another thread: the main thread has to come by
    // itself.
    precondition(
      lull_is_main_thread(),
      "Lull was loaded on another thread than the main one; use Loop.main on the main thread first")
    return currentThread
  }

  /// The calling thread's loop, made if it has none yet. Never fails, even without descriptors.
  ///
  /// Not from asynchronous code, which may be on another thread at the next line: there say which
  /// loop you mean.
  @available(
    *, noasync, message: "the thread may change at any await; name a loop, such as Loop.main"
  )
  public static var current: Loop {
    if let loop = ThreadLoop.current { return loop }
    let isMain =
      currentThread == lull_main_thread() || (lull_main_thread() == 0 && lull_is_main_thread())
    let loop =
      isMain ? main.loop : Loop(thread: currentThread, isMain: false, poller: KernelPoller())
    ThreadLoop.set(loop)
    return loop
  }

  /// Who tells the time on the calling thread, when it is not the kernel.
  static var virtualClock: (any Poller)? {
    guard hasVirtualLoops else { return nil }
    if let clock = clockOfScript { return clock }
    guard let loop = ThreadLoop.current, loop.isVirtual else { return nil }
    return loop.poller
  }

  /// Whether any thread's time is virtual.
  @inline(__always)
  static var hasVirtualLoops: Bool { virtualLoops.load(ordering: .relaxed) > 0 }
  private static let virtualLoops = Atomic<Int>(0)

  /// The clock of a thread that acts on a loop's virtual time and has no loop itself.
  @TaskLocal package static var clockOfScript: (any Poller)?

  /// Gives the calling thread, which must have none, a loop on a back end of its own.
  package static func makeCurrent(on poller: any Poller, asMain: Bool = false) -> Loop {
    precondition(ThreadLoop.current == nil, "this thread has a loop already; start a new thread")
    virtualLoops.wrappingAdd(1, ordering: .relaxed)
    let loop = Loop(thread: currentThread, isMain: asMain, poller: poller)
    ThreadLoop.set(loop)
    return loop
  }

  /// A second loop on the calling thread, which stays another's: for a host made of Lull itself.
  package static func makeSecond() -> Loop {
    Loop(thread: currentThread, isMain: false, poller: KernelPoller())
  }

  // MARK: Time

  /// Now, on the loop's own clock: the kernel's, or virtual time in tests.
  public var now: Instant { Instant(nanoseconds: poller.now) }

  /// Now, or a little before. See ``Poller/coarseNow``.
  @inline(__always)
  var coarseNow: Int64 { isVirtual ? poller.coarseNow : readClock(CLOCK_MONOTONIC_COARSE) }

  func now(on base: TimeBase) -> Int64 { base == .suspending ? poller.now : poller.continuousNow }

  // MARK: From any thread

  /// Ends the innermost run after its current pass; a loop that does not run ends its next run
  /// instead.
  ///
  /// A stop that a run did not report, because it returned for another reason, stays for the next
  /// run of that level: no stop is ever lost. Ending a nested run and the one around it takes two.
  ///
  /// > Threads: any, and signal handlers.
  public func stop() {
    while true {
      let running = max(1, level.load(ordering: .sequentiallyConsistent))
      let bit = Loop.stopBit(of: running)
      stops.bitwiseOr(bit, ordering: .sequentiallyConsistent)
      // That run may have ended before it could see the stop: then it is for the one around it.
      guard max(1, level.load(ordering: .sequentiallyConsistent)) < running,
        stops.bitwiseAnd(~bit, ordering: .sequentiallyConsistent).oldValue & bit != 0
      else { break }
    }
    wakeIfSleeping()
  }

  /// Ends all runs, however deep, and every later one as it begins. Any thread, and signal
  /// handlers.
  func stopForGood() {
    stops.bitwiseOr(Loop.everyRun, ordering: .sequentiallyConsistent)
    wakeIfSleeping()
  }

  static func stopBit(of level: Int) -> UInt64 { 1 << UInt64(min(level, 63) - 1) }
  static let everyRun: UInt64 = 1 << 63

  /// Makes the loop begin another pass, whether it sleeps or is about to.
  ///
  /// Several calls before that pass make one. A wake-up during a nested run counts for the runs
  /// around it too.
  ///
  /// > Threads: any, and signal handlers.
  public func wakeUp() {
    wakes.wrappingAdd(1, ordering: .sequentiallyConsistent)
    wakeIfSleeping()
  }

  @inline(__always)
  func wakeIfSleeping() {
    // The load spares loops that are awake, the usual case under load, a contended write.
    if sleeping.load(ordering: .sequentiallyConsistent),
      sleeping.exchange(false, ordering: .sequentiallyConsistent)
    {
      poller.wake()
    }
  }

  /// Whether the loop sleeps at this moment. Any thread; true only in the wait itself.
  public var isWaiting: Bool { sleeping.load(ordering: .acquiring) }

  /// The mode of the innermost run; nil while the loop does not run. Any thread.
  public var currentMode: Mode? {
    let id = runningMode.load(ordering: .acquiring)
    return id < 0 ? nil : Mode(id: id)
  }

  // MARK: Thread rules

  /// Whether it was made in this process and not before a fork.
  var isOfThisProcess: Bool { generation == lull_fork_generation() }

  /// Whether the calling thread is the loop's.
  public var isCurrent: Bool { thread == currentThread }

  func preconditionOnLoop(
    _ member: StaticString = #function, file: StaticString = #fileID, line: UInt = #line
  ) {
    precondition(
      isCurrent, "\(member) belongs to the loop's own thread; perform(in:_:) gets you there",
      file: file, line: line)
  }
}

extension Loop.Mode {
  init(id: Int32) { self.id = id }
}
