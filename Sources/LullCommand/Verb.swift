// SPDX-License-Identifier: Apache-2.0
import Glibc

/// How the command ends.
enum ExitCode {
  static let done: Int32 = 0
  static let failed: Int32 = 1
  static let usage: Int32 = 2
}

/// Something the command could not do, in words for the one who asked for it.
struct Failure: Error, Equatable {
  var message: String
}

/// What the command can be asked to do.
struct Verb {
  var name: String
  var summary: String
  var help: String
  /// What it was asked, without the verb itself.
  var body: @MainActor ([String]) throws -> Void

  static let all = [
    Verb(
      name: "demo", summary: "show what work on the main thread does to frames, and the cure",
      help: DemoOptions.help, body: { try Demo.run(DemoOptions($0)) })
  ]

  static let help = """
    usage: lull VERB [arguments]

    verbs:
    \(all.map { "  \($0.name.padded(to: 8))  \($0.summary)" }.joined(separator: "\n"))

    'lull VERB --help' says more about each.
    """

  /// Runs the command with these words and returns its exit code.
  @MainActor static func run(_ words: [String]) -> Int32 {
    guard let first = words.first else {
      say(help + "\n", to: STDERR_FILENO)
      return ExitCode.usage
    }
    if ["help", "--help", "-h"].contains(first) {
      return runHelp(words.dropFirst().first)
    }
    guard let verb = all.first(where: { $0.name == first }) else {
      let known = all.map(\.name) + ["help"]
      let error = UsageError(unknown: first, first.hasPrefix("-") ? "option" : "verb", known: known)
      return complain(error.message, from: "lull")
    }
    let rest = Array(words.dropFirst())
    // Whoever asks for help is not told first what else was wrong.
    if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      say(verb.help + "\n")
      return ExitCode.done
    }
    do {
      try verb.body(rest)
      return ExitCode.done
    } catch let error as UsageError {
      return complain(error.message, from: "lull \(verb.name)")
    } catch let error as Failure {
      say("lull \(verb.name): \(error.message)\n", to: STDERR_FILENO)
    } catch {
      say("lull \(verb.name): \(error)\n", to: STDERR_FILENO)
    }
    return ExitCode.failed
  }

  private static func runHelp(_ name: String?) -> Int32 {
    guard let name else {
      say(help + "\n")
      return ExitCode.done
    }
    guard let verb = all.first(where: { $0.name == name }) else {
      let error = UsageError(unknown: name, "verb", known: all.map(\.name))
      return complain(error.message, from: "lull")
    }
    say(verb.help + "\n")
    return ExitCode.done
  }

  private static func complain(_ message: String, from command: String) -> Int32 {
    say("\(command): \(message)\nSee '\(command) --help'.\n", to: STDERR_FILENO)
    return ExitCode.usage
  }
}
