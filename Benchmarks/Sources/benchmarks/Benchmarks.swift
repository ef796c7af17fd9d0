// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Glibc

@main
struct Benchmarks {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "measure", arguments.count == 3 {
      exit(measure(workload: arguments[1], subject: arguments[2]))
    }
    exit(runTool(arguments))
  }
}

/// One measurement, in a process of its own: prints a figure a line.
private func measure(workload name: String, subject subjectName: String) -> Int32 {
  guard let workload = Workload.all.first(where: { $0.name == name }),
    let subject = Subject.named(subjectName)
  else {
    complain("no workload \(name), or no subject \(subjectName)")
    return 2
  }
  guard workload.fits(subject) else {
    complain("\(subjectName) takes no part in \(name)")
    return 2
  }
  alarm(60)  // A loop that never ends is a failure like any other.
  if workload.onOneCPU { bench_pin(0) }
  let isFree = subject.usesPool || workload.isFree
  nonisolated(unsafe) var code: Int32 = 0
  // A thread of its own: the main thread's loops have more to look after.
  Worker(cpu: isFree ? nil : 0) {
    do {
      for figure in try workload.measure(subject) { print(figure) }
    } catch {
      complain("\(error)")
      code = 1
    }
  }.join()
  return code
}

func complain(_ message: String) { say("benchmarks: \(message)") }

/// A line to the standard error.
func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(2, bytes, bytes.count)
}
