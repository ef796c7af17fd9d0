// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lull

extension Loop.Mode {
  /// A mode of our own has in it what we put there, and nothing else.
  static let commit = Loop.Mode("com.example.commit")
}

/// Urgent work, shielded from everything registered elsewhere: that is what modes are for.
///
/// A program that is about to commit waits for one answer, and nothing may come between: no timer
/// of some widget, no block, no import that goes on in idle time, not even what belongs to the
/// common modes. It is not necessary to find all of these and pause them. Running the loop in a
/// mode of its own is enough, for a loop serves only the mode it runs in. The others lose nothing:
/// they wait, and go on when the loop is back.
@main
@MainActor
enum ShieldedMode {
  static var heard: [String: Int] = [:]

  static func hear(_ what: String) { heard[what, default: 0] += 1 }

  static func main() {
    registerChatter()

    // The answer comes from another thread, through a source that only our mode has.
    let answer = Loop.main.makeSource { _ in print("commit: the answer is here") }
    Loop.main.add(answer, to: .commit)
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { answer.signal() }

    let result = Loop.main.run(
      in: .commit, until: .distantFuture, returnAfterSourceHandled: true)
    print("commit: the run was over because of \(result)")
    print("commit: meanwhile the rest of the program heard \(heard.isEmpty ? "nothing" : "of it")")

    _ = Loop.main.run(in: .default, for: .milliseconds(100))
    for (what, count) in heard.sorted(by: { $0.key < $1.key }) {
      // How often a timer fires in a tenth of a second is the machine's affair.
      print("default: \(what) \(what.hasPrefix("timer") ? "again" : "\(count)")")
    }
  }

  /// What the rest of a program registers without thinking of us.
  static func registerChatter() {
    let loop = Loop.main
    loop.schedule(every: .milliseconds(1)) { _ in hear("timer of the default mode") }
    loop.schedule(every: .milliseconds(1), in: .common) { _ in hear("timer of the common modes") }

    let source = loop.makeSource { _ in hear("source") }
    loop.add(source, to: .common)
    source.signal()

    loop.perform { hear("block") }
    loop.idle.forEach(1...3) { _, _ in
      hear("idle piece")
      return .continue
    }
    Task { hear("task of the main actor") }
    DispatchQueue.main.async { hear("job of the main queue") }
  }
}
