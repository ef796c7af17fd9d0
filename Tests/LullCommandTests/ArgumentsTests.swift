// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LullCommand

@Suite struct ArgumentsTests {
  private func error(_ words: String...) -> String? {
    do throws(UsageError) {
      _ = try DemoOptions(words)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `Options and operands come in any order`() throws {
    let options = try DemoOptions(["--rounds", "3", "/usr/include", "--json", "--seconds=2.5"])
    #expect(options.path == "/usr/include")
    #expect(options.rounds == 3)
    #expect(options.seconds == 2.5)
    #expect(options.json)
    #expect(options.page == nil)
  }

  @Test func `Without words everything is as documented`() throws {
    let options = try DemoOptions([])
    #expect(options == DemoOptions())
    #expect(options.path == nil && options.rounds == 1 && options.frameCost == 4)
  }

  @Test func `After two dashes everything is an operand`() throws {
    #expect(try DemoOptions(["--", "--json"]).path == "--json")
    #expect(try DemoOptions(["-"]).path == "-")
  }

  @Test func `A misspelt option is told what was meant`() {
    #expect(error("--jsn") == "unknown option '--jsn'; did you mean '--json'?")
    #expect(error("--frame-costs", "4")?.contains("did you mean '--frame-cost'?") == true)
  }

  @Test func `An option like no other is told which there are`() throws {
    let message = try #require(error("--colour-scheme-of-the-page"))
    #expect(message.contains("known are --pieces, --cost, --compare, --json"))
  }

  @Test func `An option without its value says how it is given`() {
    #expect(error("--html") == "--html needs a value: --html FILE")
    #expect(error("--seconds", "--json") == "--seconds needs a value: --seconds N")
    #expect(error("--html=") == "--html is given an empty value")
  }

  @Test func `A switch with a value says to leave it out`() {
    #expect(error("--json=yes") == "--json takes no value; leave out '=yes'")
  }

  @Test func `An option given twice is an error`() {
    #expect(error("--json", "--json") == "--json is given twice; give it once")
  }

  @Test(arguments: ["0", "-1", "601", "many", "nan", "inf", "1s", ""])
  func `A number out of its range says the range`(text: String) {
    let message = error("--seconds", text)
    #expect(message == "--seconds is 1 to 600 seconds, not '\(text)'")
  }

  @Test func `The rules of others are played when asked for`() throws {
    #expect(try DemoOptions(["--compare"]).compare)
    #expect(try !DemoOptions([]).compare)
    let some = Cast(comparing: false)
    let all = Cast(comparing: true)
    #expect(
      some.strategies.map(\.name)
        == ["none", "all-at-once", "one-per-pass", "kernel-only", "lulls"])
    #expect(some.absent.isEmpty)
    #expect(
      all.strategies.map(\.name).filter { $0 != "glib-idle" }
        == [
          "none", "all-at-once", "one-per-pass", "kernel-only", "batch-per-pass", "slices-5ms",
          "idle-50ms", "lulls",
        ])
    #expect((all.strategies.map(\.name) + all.absent.map(\.name)).count { $0 == "glib-idle" } == 1)
  }

  @Test func `Where GLib is missing its strategy is absent, and says what is not there`() {
    let cast = Cast(comparing: true, glib: "libno-such.so.0")
    #expect(
      cast.absent == [Cast.Absent(name: "glib-idle", reason: "libno-such.so.0 is not installed")])
    #expect(cast.strategies.last?.name == "lulls")
    #expect(!cast.strategies.contains { $0.name == "glib-idle" })
  }

  @Test func `A library that is no GLib is told from one`() {
    let cast = Cast(comparing: true, glib: "libc.so.6")
    #expect(
      cast.absent.map(\.reason) == ["libc.so.6 has no g_main_context_iteration"])
  }

  @Test func `The help names every strategy`() {
    let cast = Cast(comparing: true)
    for name in cast.strategies.map(\.name) + cast.absent.map(\.name) {
      #expect(DemoOptions.help.contains("  \(name) "))
    }
  }

  @Test func `Made-up pieces have a number and a cost, and frames a rate`() throws {
    let options = try DemoOptions(["--pieces", "100", "--cost", "0.5", "--hz", "120"])
    #expect(options.pieces == 100 && options.cost == 0.5 && options.hz == 120)
    #expect(options.period == 8_333_333)
    #expect(try DemoOptions(["--pieces=7"]).cost == 5)
    #expect(DemoOptions().period == 16_666_667)
    #expect(try DemoOptions(["/usr/include", "--hz", "59.94"]).hz == 59.94)
  }

  @Test func `Made-up pieces and frames keep to their ranges`() {
    #expect(error("--pieces", "0") == "--pieces is 1 to 1000000 pieces, not '0'")
    #expect(error("--pieces", "1.5") == "--pieces is 1 to 1000000 pieces, not '1.5'")
    #expect(
      error("--pieces", "1", "--cost", "0.001")
        == "--cost is 0.01 to 1000 milliseconds, not '0.001'")
    #expect(error("--hz", "0") == "--hz is 1 to 1000 frames a second, not '0'")
    #expect(error("--hz", "1001") == "--hz is 1 to 1000 frames a second, not '1001'")
  }

  @Test func `A cost without pieces and pieces beside a path are told what is missing`() {
    #expect(error("--cost", "5") == "--cost is that of a made-up piece; give --pieces N as well")
    #expect(
      error("--pieces", "5", "/usr")
        == "--pieces makes its work up and reads nothing; leave out '/usr'")
  }

  @Test func `A frame costs half of a short period at most, unless said otherwise`() throws {
    #expect(try DemoOptions(["--hz", "60"]).frameCost == 4)
    #expect(try DemoOptions(["--hz", "500"]).frameCost == 1)
    #expect(try DemoOptions(["--hz", "500", "--frame-cost", "1.8"]).frameCost == 1.8)
    #expect(
      error("--hz", "1000", "--frame-cost", "1")
        == "--frame-cost is 0 to 0.9 milliseconds (a frame has 1.0), not '1'")
  }

  @Test func `A frame may not cost more than there is between two`() {
    #expect(
      error("--frame-cost", "17")
        == "--frame-cost is 0 to 15 milliseconds (a frame has 16.7), not '17'")
    #expect(error("--rounds", "1.5") == "--rounds is 1 to 99 rounds, not '1.5'")
  }

  @Test func `Two paths are one too many`() {
    #expect(error("/a", "/b") == "one PATH is taken, not 2: /a /b")
    #expect(error("") == "PATH is empty; name a folder or a file")
  }

  @Test func `The help names every option`() {
    for option in DemoOptions.options {
      #expect(DemoOptions.help.contains(option.name))
      #expect(DemoOptions.help.contains(option.help))
    }
    #expect(DemoOptions.help.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }

  @Test(arguments: [
    ("", "", 0), ("a", "", 1), ("", "ab", 2), ("demo", "demo", 0), ("deom", "demo", 2),
    ("kitten", "sitting", 3),
  ])
  func `The edit distance counts letters put in, taken out and replaced`(
    first: String, second: String, distance: Int
  ) {
    #expect(editDistance(first, second) == distance)
    #expect(editDistance(second, first) == distance)
  }
}
