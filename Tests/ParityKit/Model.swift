// SPDX-License-Identifier: Apache-2.0

/// What one thread's run loop does, as a specification that can be run.
///
/// It is CFRunLoop with the given differences. All that CF keeps is kept whatever the differences,
/// so at each of them the model knows what both would do: `choose` takes a side and notes when it
/// mattered. Start reading at `run(in:polls:returnsAfterSource:)`.
package final class Model: RunLoopUnderTest {
  /// How often each difference made the outcome differ.
  package private(set) var uses: [Difference: Int] = [:]

  /// A bit for each difference that is on.
  private let differences: Int
  unowned let callbacks: any Callbacks

  package internal(set) var tick = 0
  var sources: [Source]
  var timers: [Timer]
  var observers: [Observer]
  var modes = ModeTable()
  var commonModes: [Mode] = [.initial]
  var commonItems: [Item] = []
  var blocks: [Block] = []
  var activations: [Activation] = []

  /// CF's wake-up: one latch for the whole loop, written by `wakeUp`, cleared by any wait.
  var wakeLatch = false
  /// Lull's wake-up: a count that each pass compares with what it was when the pass began.
  var wakeSequence = 0
  /// Stops that Lull keeps for the next run of a level (1 is the outermost), by the reason why CF
  /// does not.
  var keptStops: [Int: Difference] = [:]
  var signals = 0
  var timersAdded = 0

  /// A run loop at tick 0 with a program's items.
  package init(_ program: Program, _ callbacks: any Callbacks, differences: Set<Difference>) {
    self.callbacks = callbacks
    self.differences = differences.reduce(0) { $0 | 1 << $1.rawValue }
    sources = program.sources.map { Source(order: $0) }
    timers = program.timers.map { Timer(first: $0.first, interval: max(0, $0.interval)) }
    observers = program.observers.map {
      Observer(activities: $0.activities, order: $0.order, repeats: $0.repeats)
    }
  }

  /// Decides as CF or as Lull would, and notes a difference that made a difference.
  func choose<Value: Equatable>(_ difference: Difference, cf: Value, lull: Value) -> Value {
    guard differences & 1 << difference.rawValue != 0, cf != lull else { return cf }
    uses[difference, default: 0] += 1
    return lull
  }

  struct Source {
    let order: Int
    var isValid = true
    /// When it was signalled first since it was last performed.
    var signal: Int?
    var modes: [Mode] = []
  }

  struct Timer {
    var date: Int
    var deadline: Int
    let interval: Int
    var isValid = true
    var isFiring = false
    var modes: [Mode] = []
    /// Lull's order among equal deadlines: when it was added while it was in no mode.
    var added = 0

    init(first: Int, interval: Int) {
      date = first
      deadline = max(0, first)
      self.interval = interval
    }
  }

  struct Observer {
    let activities: Int
    let order: Int
    let repeats: Bool
    var isValid = true
    var isFiring = false
    var modes: [Mode] = []
  }

  struct Block {
    let modes: [Mode]
    let body: () -> Void
  }

  /// The modes that have come into being.
  struct ModeTable {
    private var states: [ModeState?] = [nil, ModeState()]

    /// What a mode holds, or nil when there is no such mode yet.
    subscript(mode: Mode) -> ModeState? {
      get { mode.index + 1 < states.count ? states[mode.index + 1] : nil }
      set {
        while mode.index + 1 >= states.count { states.append(nil) }
        states[mode.index + 1] = newValue
      }
    }

    var all: [Mode] { states.indices.filter { states[$0] != nil }.map { Mode($0 - 1) } }
  }

  struct ModeState {
    /// By order, then as they were inserted.
    var observers: [Int] = []
    /// By deadline; each was put behind its equals when it was last inserted.
    var timers: [Int] = []
    /// When CF's timer descriptor for this mode turns readable.
    var armed: Int?
    /// What CF believes it armed it for.
    var armedFor: Int?
  }

  /// One call of run that has not returned.
  struct Activation {
    let mode: Mode
    let polls: Bool
    let returnsAfterSource: Bool
    var isStopped = false
    var ignoresWakes = false
    var seenWake = 0
  }
}

// MARK: Wake-ups, stops, blocks, time

extension Model {
  /// The innermost run.
  var innermost: Activation {
    get { activations[activations.count - 1] }
    set { activations[activations.count - 1] = newValue }
  }

  package func wakeUp() {
    wakeSequence += 1
    latchWake()
  }

  /// CF drops a wake-up between a pass's wait and the next pass, and outside of runs.
  private func latchWake() {
    if let run = activations.last, !run.ignoresWakes { wakeLatch = true }
  }

  package func stop() {
    if activations.isEmpty {
      keptStops[1] = .latchedStop
    } else {
      innermost.isStopped = true
      latchWake()
    }
  }

  package func perform(in modes: [Mode], _ body: @escaping @Sendable () -> Void) {
    modes.forEach(makeMode)
    blocks.append(Block(modes: modes, body: body))
  }

  package func work(ticks: Int) { tick += ticks }

  package var currentMode: Mode? { activations.last?.mode }

  package var allModes: [Mode] { modes.all }

  func makeMode(_ mode: Mode) {
    if modes[mode] == nil { modes[mode] = ModeState() }
  }

  func isMeant(_ block: Block, for mode: Mode) -> Bool {
    block.modes.contains(mode) || block.modes.contains(.common) && commonModes.contains(mode)
  }

  /// Observers do not count, and neither do blocks that are being run through.
  func isEmpty(_ mode: Mode) -> Bool {
    guard let state = modes[mode] else { return true }
    return state.timers.isEmpty && !sources.contains { $0.modes.contains(mode) }
      && !blocks.contains { isMeant($0, for: mode) }
  }
}
