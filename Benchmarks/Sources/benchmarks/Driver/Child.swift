// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures in a process of its own, so that heaps are clean and a crash is the subject's alone.
func measureInChild(_ workload: Workload, _ subject: Subject) throws -> [Double] {
  let child = Process()
  child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  child.arguments = ["measure", workload.name, subject.name]
  // A crash is reported in a line, not in a page.
  child.environment = ["SWIFT_BACKTRACE": "enable=no"]
  let output = Pipe()
  child.standardOutput = output
  try child.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  child.waitUntilExit()
  if child.terminationReason == .uncaughtSignal {
    throw Failure("it died of signal \(child.terminationStatus)")
  }
  let figures = text.split(separator: "\n").compactMap { Double($0) }
  guard child.terminationStatus == 0, figures.count == workload.rows.count else {
    throw Failure("exit code \(child.terminationStatus), \(figures.count) figures")
  }
  return figures
}

private struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
