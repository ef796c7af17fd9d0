// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The `lull` command.
///
/// `main` is synchronous: an asynchronous one would leave the main thread to the runtime, and the
/// main thread is what this is about.
@main struct Command {
  static func main() {
    exit(Verb.run(Array(CommandLine.arguments.dropFirst())))
  }
}
