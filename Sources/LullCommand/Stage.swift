// SPDX-License-Identifier: Apache-2.0

/// The main thread of a program with a user interface, for one run of one strategy: frames, input,
/// the work, and the record of all three.
@MainActor final class Stage {
  /// What a run has to have before it may end, time limit aside.
  struct Plan {
    /// How long frames run alone before the work is handed over.
    var calm: Nanoseconds
    /// Frames, that the figures of all strategies weigh the same.
    var leastFrames: Int
    /// Input events handled, for a latency to tell of.
    var leastInput = 1
    /// The time after the work, to see that it leaves nothing behind.
    var afterwards: Nanoseconds = 250_000_000

    /// As the command has it: half a second of calm, and four seconds at least.
    static func standard(period: Nanoseconds) -> Plan {
      Plan(
        calm: Demo.calm(period: period), leastFrames: Demo.frames(in: 4, period: period))
    }
  }

  /// How long an input event takes to handle.
  private static let inputCost: Nanoseconds = 300_000

  let pieces: [Piece]
  /// In bytes.
  let longestPiece: Int
  private let reader: PieceReader
  private let strategy: any Strategy
  private let frameCost: Nanoseconds
  private let limit: Nanoseconds
  private let seed: UInt64
  private let plan: Plan

  private var timeline: Timeline
  private var next = 0
  /// When the run is over, whatever is left of the work.
  private(set) var deadline: Nanoseconds = 0
  /// Where events come from.
  private(set) var input: Int32 = -1
  /// Asks the loop when the next frame is due, where that can be known.
  var nextFrame: @MainActor () -> Nanoseconds = { .max }
  private var endStrategy: @MainActor () -> Void = {}

  init(
    _ strategy: any Strategy, workload: Workload, options: DemoOptions, seed: UInt64,
    plan: Plan? = nil
  ) {
    self.strategy = strategy
    self.seed = seed
    self.plan = plan ?? .standard(period: options.period)
    timeline = Timeline(firstDue: 0, period: options.period, end: 0)
    pieces = workload.pieces
    longestPiece = workload.longestPiece
    reader = PieceReader(files: workload.files, longestPiece: workload.longestPiece)
    frameCost = Nanoseconds(options.frameCost * 1e6)
    limit = Nanoseconds(options.seconds * 1e9)
  }

  // MARK: - What a strategy sees

  var period: Nanoseconds { timeline.period }

  var hasPieces: Bool { next < pieces.count }

  /// False when the run is over and the work is to be left as it is.
  var hasTime: Bool { monotonicNow() < deadline }

  /// Whether an event waits or a frame is already due: what can be known without knowing of frames
  /// to come.
  var isAnythingReady: Bool { nextFrame() <= monotonicNow() || isReadable(input) }

  /// Runs the next piece, if there is one.
  ///
  /// - Returns: whether there are more.
  func runNextPiece() -> Bool {
    guard hasPieces else { return false }
    next += 1
    run(pieces[next - 1])
    return hasPieces
  }

  /// Runs a piece, by a strategy that has an order of its own.
  func run(_ piece: Piece) {
    let start = monotonicNow()
    reader.run(piece)
    let end = monotonicNow()
    timeline.pieces.append(Stretch(start: start, end: end))
    if timeline.pieces.count == pieces.count { timeline.workDone = end }
  }

  // MARK: - The run

  /// What came of a run: the record, what was read, and how many pieces could not be.
  struct Run: Sendable {
    var timeline: Timeline
    var tally: Tally
    var failures: Int
  }

  func run() throws(SystemError) -> Run {
    reserve()
    let pipe = try StampPipe()
    input = pipe.readEnd.number
    deadline = monotonicNow() + limit
    try perform(pipe)
    return Run(timeline: timeline, tally: reader.tally, failures: reader.failures)
  }

  private func perform(_ pipe: borrowing StampPipe) throws(SystemError) {
    let thread = try InputThread(
      to: pipe.writeEnd.number, seed: seed, perSecond: Demo.inputPerSecond)
    defer { thread.stop() }
    let (waited, stolen) = (runQueueDelay(), stolenTime())
    try strategy.loop.run(self)
    timeline.runQueueDelay = runQueueDelay() - waited
    timeline.stolen = stolenTime() - stolen
    timeline.end = monotonicNow()
    endStrategy()
    endStrategy = {}
  }

  // MARK: - What its loop calls

  /// The first frame is due then: nothing before it is measured.
  ///
  /// - Returns: when to hand the work over. Between two frames, so that the first piece and a frame
  ///   do not contend for the same moment.
  func opens(firstDue: Nanoseconds) -> Nanoseconds {
    timeline.firstDue = firstDue
    return firstDue + plan.calm + period / 2
  }

  func handOver() {
    guard strategy.works else { return }
    timeline.workGiven = monotonicNow()
    endStrategy = strategy.begin(self)
  }

  /// Works for as long as a frame does.
  ///
  /// - Returns: whether there are more to come.
  func showFrame() -> Bool {
    let frame = burn(frameCost)
    timeline.frames.append(frame)
    return !isOver(frame.end)
  }

  /// One event, as from a queue of them: those behind it have their turn when frames had theirs.
  func handleInput() {
    guard let sent = StampPipe.receive(from: input) else { return }
    timeline.input.append(InputEvent(sent: sent, handling: burn(Self.inputCost)))
  }

  private func isOver(_ now: Nanoseconds) -> Bool {
    let least = timeline.firstDue + Nanoseconds(plan.leastFrames - 1) * period
    guard now >= least, timeline.input.count >= plan.leastInput else { return false }
    guard strategy.works else { return true }
    guard let done = timeline.workDone else { return false }
    return now >= done + plan.afterwards
  }

  /// The record is not to allocate while it is kept.
  private func reserve() {
    let seconds = Int(limit / 1_000_000_000) + 1
    timeline.frames.reserveCapacity(Int(limit / period) + 60)
    timeline.input.reserveCapacity(seconds * Demo.inputPerSecond * 4)
    timeline.pieces.reserveCapacity(pieces.count)
  }
}
