// SPDX-License-Identifier: Apache-2.0

import ParityKit
import Testing

/// One fact about CFRunLoop, as a program and what it does there and here.
struct Scenario: Sendable, CustomTestStringConvertible {
  /// The number of the fact among those the project keeps.
  let fact: String
  let title: String
  let program: Program
  /// What CFRunLoop does. See ``Trace``.
  let cf: String
  /// What Lull does, and the difference that is intended; nil where it does the same.
  let lull: (trace: String, by: Difference)?

  init(_ fact: String, _ title: String, _ program: Program, cf: String) {
    (self.fact, self.title, self.program, self.cf, lull) = (fact, title, program, cf, nil)
  }

  init(
    _ fact: String, _ title: String, _ program: Program, cf: String, lull: String,
    by difference: Difference
  ) {
    (self.fact, self.title, self.program, self.cf) = (fact, title, program, cf)
    self.lull = (lull, difference)
  }

  var testDescription: String { "\(fact): \(title)" }
}

/// How traces are written down in scenarios: events in order, separated by commas; time only where
/// it passes, as `+5` ticks.
enum Trace {
  /// The events alone, of a whole trace or a compact one: in real time their ticks mean little.
  static func order(_ trace: String) -> [String] {
    let events = trace.contains("|") ? compact(trace) : trace
    return events.split(separator: ",").map { $0.drop { $0 == " " } }.filter { !$0.hasPrefix("+") }
      .map(String.init)
  }

  static func compact(_ trace: String) -> String {
    var now = 0
    var words: [String] = []
    for event in trace.split(separator: "|") {
      let parts = event.split(separator: " ", maxSplits: 1)
      let tick = Int(parts[0])!
      var text = parts[1]
      while text.last == " " { text.removeLast() }
      if tick > now { words.append("+\(tick - now)") }
      now = tick
      if text != "end" { words.append("\(text)") }
    }
    return words.joined(separator: ", ")
  }
}

// MARK: Writing programs

extension Program {
  /// A program with at most three real modes.
  ///
  /// - Parameters:
  ///   - sources: their orders.
  ///   - scripts: what callbacks do, for each invocation in turn.
  ///   - top: what the thread does.
  init(
    sources: [Int] = [], timers: [TimerSpec] = [], observers: [ObserverSpec] = [],
    on scripts: [Trigger: [[Op]]] = [:], _ top: [Op]
  ) {
    self.init()
    self.sources = sources
    self.timers = timers
    self.observers = observers
    self.scripts = scripts
    self.top = top
  }
}

extension Program.TimerSpec {
  static func at(_ first: Int, every interval: Int = 0) -> Self {
    Self(first: first, interval: interval)
  }
  /// A timer that ends the run.
  static func stop(at first: Int) -> Self { Self(first: first, interval: 0, stops: true) }
}

extension Program.ObserverSpec {
  static func of(_ activities: Activity..., order: Int = 0, repeats: Bool = true) -> Self {
    Self(activities: activities.reduce(0) { $0 | $1.rawValue }, order: order, repeats: repeats)
  }
  static let all = Self(activities: 0x0FFF_FFFF, order: 0, repeats: true)
}

extension Op {
  static func poll(_ mode: Mode) -> Op { .run(mode, polls: true, once: false) }
  static func pollOnce(_ mode: Mode) -> Op { .run(mode, polls: true, once: true) }
  static func run(_ mode: Mode) -> Op { .run(mode, polls: false, once: false) }
  static func runOnce(_ mode: Mode) -> Op { .run(mode, polls: false, once: true) }
}

let (s0, s1, s2) = (Item.source(0), Item.source(1), Item.source(2))
let (t0, t1, t2) = (Item.timer(0), Item.timer(1), Item.timer(2))
let (o0, o1, o2) = (Item.observer(0), Item.observer(1), Item.observer(2))
let (m0, m1, m2) = (Mode(0), Mode(1), Mode(2))
