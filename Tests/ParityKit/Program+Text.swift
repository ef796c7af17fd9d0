// SPDX-License-Identifier: Apache-2.0

/// A program as one line of words, for pipes, reports and replays. For example:
///
///     modes 2 source 0 timer 5 2 observer 33 0 on t0 [ [ signal s0 wake ] ] top [ run m0 all ]
extension Program: CustomStringConvertible {
  package var description: String {
    var words = ["modes \(modeCount)"]
    words += sources.map { "source \($0)" }
    words += timers.map { "timer \($0.first) \($0.interval)" + ($0.stops ? " stops" : "") }
    words += observers.map {
      "observer \($0.activities) \($0.order)" + ($0.repeats ? "" : " once")
    }
    for (trigger, script) in scripts.sorted(by: { $0.key < $1.key }) {
      words.append("on \(trigger.text) [")
      words += script.map(Self.text)
      words.append("]")
    }
    words.append("top \(Self.text(top))")
    return words.joined(separator: " ")
  }

  private static func text(_ ops: [Op]) -> String {
    "[ " + ops.map { text($0) + " " }.joined() + "]"
  }

  private static func text(_ op: Op) -> String {
    switch op {
    case .add(let item, let mode), .remove(let item, let mode), .contains(let item, let mode):
      "\(op.name) \(item) \(mode)"
    case .invalidate(let item), .isValid(let item): "\(op.name) \(item)"
    case .signal(let source): "\(op.name) s\(source)"
    case .setNextFire(let timer, let ticks): "\(op.name) t\(timer) \(ticks)"
    case .perform(let modes, let body):
      "\(op.name) [ \(modes.map(\.description).joined(separator: " ")) ] \(text(body))"
    case .run(let mode, let polls, let once):
      "\(op.name) \(mode) \(polls ? "poll" : "forever") \(once ? "once" : "all")"
    case .work(let ticks): "\(op.name) \(ticks)"
    case .addCommonMode(let mode), .nextFireIn(let mode): "\(op.name) \(mode)"
    case .nextFire(let timer): "\(op.name) t\(timer)"
    case .wakeUp, .stop, .currentMode, .allModes: op.name
    }
  }

  /// Reads what `description` wrote.
  package init(text: String) throws(UnreadableProgram) {
    self.init()
    var reader = Reader(words: text.split(separator: " ").map(String.init))
    while let word = reader.takeIfAny() {
      switch word {
      case "modes": modeCount = try reader.number()
      case "source": sources.append(try reader.number())
      case "timer":
        let (first, interval) = (try reader.number(), try reader.number())
        timers.append(.init(first: first, interval: interval, stops: reader.takes("stops")))
      case "observer":
        let (activities, order) = (try reader.number(), try reader.number())
        observers.append(
          .init(activities: activities, order: order, repeats: !reader.takes("once")))
      case "on":
        let trigger = try Trigger(text: reader.take())
        scripts[trigger] = try reader.list { reader throws(UnreadableProgram) in
          try reader.list { reader throws(UnreadableProgram) in try reader.op() }
        }
      case "top": top = try reader.list { reader throws(UnreadableProgram) in try reader.op() }
      default: throw UnreadableProgram(word: word)
      }
    }
  }
}

/// A text that is no program.
package struct UnreadableProgram: Error {
  /// The word that was not understood, or an empty one at the end of the text.
  package var word: String
}

extension Program.Trigger {
  fileprivate var text: String {
    switch self {
    case .perform(let index): "s\(index)"
    case .schedule(let index): "schedule\(index)"
    case .cancel(let index): "cancel\(index)"
    case .timer(let index): "t\(index)"
    case .observer(let index): "o\(index)"
    }
  }

  fileprivate init(text: String) throws(UnreadableProgram) {
    let name = text.prefix { !$0.isNumber }
    guard let index = Int(text.dropFirst(name.count)) else { throw UnreadableProgram(word: text) }
    switch name {
    case "s": self = .perform(index)
    case "schedule": self = .schedule(index)
    case "cancel": self = .cancel(index)
    case "t": self = .timer(index)
    case "o": self = .observer(index)
    default: throw UnreadableProgram(word: text)
    }
  }
}

/// Takes a program's words one after another.
private struct Reader {
  private let words: [String]
  private var next = 0

  init(words: [String]) { self.words = words }

  mutating func takeIfAny() -> String? {
    guard next < words.count else { return nil }
    defer { next += 1 }
    return words[next]
  }

  mutating func take() throws(UnreadableProgram) -> String {
    guard let word = takeIfAny() else { throw UnreadableProgram(word: "") }
    return word
  }

  mutating func takes(_ word: String) -> Bool {
    guard next < words.count, words[next] == word else { return false }
    next += 1
    return true
  }

  mutating func number() throws(UnreadableProgram) -> Int {
    let word = try take()
    guard let number = Int(word) else { throw UnreadableProgram(word: word) }
    return number
  }

  mutating func index() throws(UnreadableProgram) -> Int {
    let word = try take()
    guard let number = Int(word.dropFirst()) else { throw UnreadableProgram(word: word) }
    return number
  }

  mutating func mode() throws(UnreadableProgram) -> Mode {
    takes("common") ? .common : Mode(try index())
  }

  mutating func item() throws(UnreadableProgram) -> Item {
    let word = try take()
    guard let number = Int(word.dropFirst()) else { throw UnreadableProgram(word: word) }
    switch word.first {
    case "s": return .source(number)
    case "t": return .timer(number)
    case "o": return .observer(number)
    default: throw UnreadableProgram(word: word)
    }
  }

  mutating func list<Element>(
    _ element: (inout Reader) throws(UnreadableProgram) -> Element
  ) throws(UnreadableProgram) -> [Element] {
    guard takes("[") else { throw UnreadableProgram(word: next < words.count ? words[next] : "") }
    var elements: [Element] = []
    while !takes("]") { elements.append(try element(&self)) }
    return elements
  }

  mutating func op() throws(UnreadableProgram) -> Op {
    let word = try take()
    switch word {
    case "add": return .add(try item(), try mode())
    case "remove": return .remove(try item(), try mode())
    case "invalidate": return .invalidate(try item())
    case "signal": return .signal(try index())
    case "wake": return .wakeUp
    case "stop": return .stop
    case "set": return .setNextFire(try index(), try number())
    case "perform":
      let modes = try list { reader throws(UnreadableProgram) in try reader.mode() }
      return .perform(modes, try list { reader throws(UnreadableProgram) in try reader.op() })
    case "run":
      let mode = try mode()
      let polls = try take() == "poll"
      return .run(mode, polls: polls, once: try take() == "once")
    case "work": return .work(try number())
    case "common": return .addCommonMode(try mode())
    case "contains": return .contains(try item(), try mode())
    case "valid": return .isValid(try item())
    case "date": return .nextFire(try index())
    case "next": return .nextFireIn(try mode())
    case "mode": return .currentMode
    case "modes": return .allModes
    default: throw UnreadableProgram(word: word)
    }
  }
}
