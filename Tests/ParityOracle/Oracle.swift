// SPDX-License-Identifier: Apache-2.0

import CVirtualTime
import Foundation
import ParityKit

/// Runs programs on Foundation's CFRunLoop in virtual time.
///
/// Without arguments it reads a program a line and answers each with its trace, also in one line;
/// with `--real` it does so in real time. With `--live SCENARIO` it plays a `LiveScenario`.
/// With `--check SEED COUNT` it compares the model with CFRunLoop. With `--show SEED` or
/// `--replay PROGRAM` it prints one program and what it does on CFRunLoop, on the model and on
/// Lull's model. With `--print SEED COUNT` it prints programs, fit for its own input.
@main struct Oracle {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch (arguments.first, arguments.dropFirst().first) {
    case (nil, _): answer(CFRun.trace)
    case ("--real", nil): answer(CFRun.realTrace)
    case ("--live", let name?):
      guard let scenario = LiveScenario(rawValue: name) else { usage() }
      for event in scenario.play(on: CFLiveLoop.self) { print(event) }
    case ("--check", let seed?):
      let count = arguments.count > 2 ? UInt64(arguments[2]) : 1000
      guard let first = UInt64(seed), let count else { usage() }
      exit(check(seeds: first..<first + count) ? 0 : 1)
    case ("--print", let seed?):
      let count = arguments.count > 2 ? UInt64(arguments[2]) : 1
      guard let first = UInt64(seed), let count else { usage() }
      for seed in first..<first + count { print(Program(seed: seed)) }
    case ("--show", let seed?):
      guard let seed = UInt64(seed) else { usage() }
      show(Program(seed: seed))
    case ("--replay", let text?): show(read(text))
    default: usage()
    }
  }

  private static func usage() -> Never {
    print("usage: ParityOracle [--real | --check SEED COUNT | --print SEED COUNT]")
    print("       ParityOracle --live SCENARIO")
    print("       ParityOracle [--show SEED | --replay PROGRAM]")
    exit(2)
  }

  private static func answer(_ trace: (Program) -> (trace: [String], coverage: Coverage)) {
    while let line = readLine() {
      print(trace(read(line)).trace.joined(separator: " | "))
      fflush(nil)
    }
  }

  private static func read(_ text: String) -> Program {
    do {
      return try Program(text: text)
    } catch {
      print("no program: \(error.word)")
      exit(2)
    }
  }
}

/// One program on CFRunLoop, on a thread of its own.
///
/// @unchecked Sendable because a thread takes it: its maker waits until that has ended.
final class CFRun: @unchecked Sendable {
  private let program: Program
  private var result: (trace: [String], coverage: Coverage) = ([], Coverage())
  private var callbacks: (any Callbacks)?
  private var loop: CFLoop?

  private init(_ program: Program) { self.program = program }

  /// Carries out a program.
  static func trace(of program: Program) -> (trace: [String], coverage: Coverage) {
    let run = CFRun(program)
    vt_run(
      { Unmanaged<CFRun>.fromOpaque($0!).takeUnretainedValue().body() },
      { Unmanaged<CFRun>.fromOpaque($0!).takeUnretainedValue().callbacks?.sleepsForEver() },
      Unmanaged.passUnretained(run).toOpaque())
    return run.result
  }

  /// Carries out a program in real time.
  static func realTrace(of program: Program) -> (trace: [String], coverage: Coverage) {
    let run = CFRun(program)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      run.body(isReal: true)
      done.signal()
    }
    thread.start()
    done.wait()
    return run.result
  }

  private func body(isReal: Bool = false) {
    result = Interpreter.run(
      program,
      on: { program, callbacks in
        self.callbacks = callbacks
        let loop = CFLoop(program, callbacks, isReal: isReal)
        self.loop = loop
        return loop
      }, finish: { $0.invalidateAll() })
  }
}
