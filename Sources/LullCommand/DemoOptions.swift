// SPDX-License-Identifier: Apache-2.0

/// What `lull demo` was asked for.
struct DemoOptions: Equatable, Sendable {
  /// Nil for the first of the standard folders that has work enough.
  var path: String?
  /// How many pieces to make up; nil for reading files.
  var pieces: Int?
  /// What a made-up piece costs, in milliseconds.
  var cost = 5.0
  /// Whether the rules of others are played as well.
  var compare = false
  var json = false
  var page: String?
  /// The longest a strategy may run.
  var seconds = 6.0
  /// Frames a second.
  var hz = 60.0
  /// What a frame costs, in milliseconds.
  var frameCost = 4.0
  var rounds = 1

  /// From one frame to the next.
  var period: Nanoseconds { Nanoseconds((1e9 / hz).rounded()) }

  static let options = [
    Option(name: "--pieces", value: "N", help: "do N made-up pieces in place of reading files"),
    Option(name: "--cost", value: "MS", help: "milliseconds of work in a made-up piece (5)"),
    Option(
      name: "--compare", value: nil, help: "play the rules of others on the same load as well"),
    Option(name: "--json", value: nil, help: "print one JSON object in place of the table"),
    Option(name: "--html", value: "FILE", help: "also write the picture as a self-contained page"),
    Option(name: "--seconds", value: "N", help: "end each strategy after N seconds (6)"),
    Option(name: "--hz", value: "HZ", help: "frames a second (60)"),
    Option(
      name: "--frame-cost", value: "MS",
      help: "milliseconds of work in a frame (4, or half a frame where that is less)"),
    Option(name: "--rounds", value: "N", help: "run all strategies N times, report medians (1)"),
    Option(name: "--help", value: nil, help: "say this"),
  ]

  static let help = """
    usage: lull demo [PATH] [options]

    Reads the files under PATH, piece by piece, on a main thread that also has a frame to show
    HZ times a second and input to answer. Does so by five strategies and shows what each of them
    does to the frames and to the input:

      none          no work at all, to see what the machine itself does to frames
      all-at-once   all of it in one go
      one-per-pass  the classic: an observer runs a piece each time the loop is about to wait
      kernel-only   the same, but asks the kernel first whether anything is ready
      lulls         Lull: a piece runs when it fits before the next frame

    With --compare, by these rules of others as well:

      batch-per-pass  Texture's ASRunLoopQueue: a batch of one each time before a wait
      slices-5ms      React's scheduler: pieces for 5 ms, then the loop has its turn
      idle-50ms       requestIdleCallback: pieces until the next frame, or for 50 ms
      glib-idle       GLib itself, where it is installed: a piece when nothing else is ready

    PATH is a folder or a file. Without it, a folder that is always there is taken. With --pieces
    nothing is read: each piece keeps the processor busy for as long as --cost says.

    options:
    \(Option.table(options))

    exit codes: 0 done, 1 failed, 2 wrong usage
    """

  init() {}

  /// `--help` is looked for before: who asks for help is not told what else was wrong.
  init(_ words: some Sequence<String>) throws(UsageError) {
    let arguments = try Arguments(words, taking: Self.options)
    guard arguments.operands.count <= 1 else {
      throw UsageError(
        message: "one PATH is taken, not \(arguments.operands.count): "
          + arguments.operands.joined(separator: " "))
    }
    path = arguments.operands.first
    if path == "" { throw UsageError(message: "PATH is empty; name a folder or a file") }
    pieces = try arguments.number("--pieces", in: 1...1_000_000, unit: "pieces")
    if pieces != nil, let path {
      throw UsageError(message: "--pieces makes its work up and reads nothing; leave out '\(path)'")
    }
    if pieces == nil, arguments.has("--cost") {
      throw UsageError(message: "--cost is that of a made-up piece; give --pieces N as well")
    }
    cost = try arguments.number("--cost", in: 0.01...1000, unit: "milliseconds", or: cost)
    compare = arguments.has("--compare")
    json = arguments.has("--json")
    page = try arguments.text("--html")
    seconds = try arguments.number("--seconds", in: 1...600, unit: "seconds", or: seconds)
    hz = try arguments.number("--hz", in: 1...1000, unit: "frames a second", or: hz)
    // What is between two frames is not for frames alone.
    let frame = milliseconds(period)
    frameCost = try arguments.number(
      "--frame-cost", in: 0...(frame * 90).rounded(.down) / 100,
      unit: "milliseconds (a frame has \(decimal(frame, places: 1)))", or: min(frameCost, frame / 2)
    )
    rounds = try arguments.number("--rounds", in: 1...99, unit: "rounds", or: rounds)
  }
}

extension Option {
  /// The options as lines of a help text.
  static func table(_ options: [Option]) -> String {
    let names = options.map { $0.value == nil ? $0.name : "\($0.name) \($0.value!)" }
    let width = names.map(\.count).max() ?? 0
    return zip(names, options).map { name, option in
      "  " + name.padded(to: width) + "  " + option.help
    }.joined(separator: "\n")
  }
}

extension String {
  /// As wide as a column; what is wider stays as it is.
  func padded(to width: Int, right: Bool = false, with fill: Character = " ") -> String {
    let padding = String(repeating: fill, count: max(0, width - count))
    return right ? padding + self : self + padding
  }
}
