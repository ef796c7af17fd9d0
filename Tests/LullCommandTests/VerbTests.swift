// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LullCommand

/// What the command prints and how it exits, seen from outside.
@Suite struct VerbTests {
  private func standardError(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  private func standardOutput(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
  }

  @Test func `Without a verb it says which there are and exits with 2`() async {
    let result = await #expect(processExitsWith: .exitCode(2), observing: [\.standardErrorContent])
    {
      exit(await Verb.run([]))
    }
    #expect(standardError(result).contains("usage: lull VERB"))
  }

  @Test func `Asked for help it says so on standard output and exits with 0`() async {
    for words in [["--help"], ["-h"], ["help"]] {
      let result = await #expect(
        processExitsWith: .exitCode(0), observing: [\.standardOutputContent]
      ) { [words = words as [String]] in
        exit(await Verb.run(words))
      }
      #expect(standardOutput(result).contains("usage: lull VERB"))
    }
  }

  @Test func `Every verb has help, whatever else was asked`() async {
    for words in [["demo", "--help"], ["demo", "--nonsense", "-h"], ["help", "demo"]] {
      let result = await #expect(
        processExitsWith: .exitCode(0), observing: [\.standardOutputContent]
      ) { [words = words as [String]] in
        exit(await Verb.run(words))
      }
      #expect(standardOutput(result).contains("usage: lull demo"))
    }
  }

  @Test func `A misspelt verb is told what was meant`() async {
    let result = await #expect(processExitsWith: .exitCode(2), observing: [\.standardErrorContent])
    {
      exit(await Verb.run(["dmeo"]))
    }
    #expect(
      standardError(result)
        == "lull: unknown verb 'dmeo'; did you mean 'demo'?\nSee 'lull --help'.\n")
  }

  @Test func `A wrong option exits with 2 and says where to read`() async {
    let result = await #expect(processExitsWith: .exitCode(2), observing: [\.standardErrorContent])
    {
      exit(await Verb.run(["demo", "--jsn"]))
    }
    #expect(
      standardError(result)
        == "lull demo: unknown option '--jsn'; did you mean '--json'?\nSee 'lull demo --help'.\n")
  }

  @Test func `A path that is not there exits with 1 and says so`() async {
    let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent])
    {
      exit(await Verb.run(["demo", "/no/such/folder"]))
    }
    #expect(
      standardError(result) == "lull demo: /no/such/folder: No such file or directory\n")
  }

  @Test func `A page that cannot be written is said before anything is run`() async {
    let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent])
    {
      exit(await Verb.run(["demo", "--html", "/no/such/folder/page.html"]))
    }
    #expect(
      standardError(result) == "lull demo: /no/such/folder/page.html: No such file or directory\n")
  }
}
