// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Workload {
  /// The programs `hello-...`, which `run` builds and strips.
  static let startup: [Workload] = [
    Workload(
      name: "start-up",
      rows: [
        Row(name: "dynamic", unit: "ms"), Row(name: "static", unit: "ms"),
        Row(name: "size, static", unit: "KB"),
      ],
      fits: { program($0, "static") != nil },
      measure: { subject in
        let size = try FileManager.default.attributesOfItem(atPath: program(subject, "static")!)
        return [
          try start(program(subject, "dynamic")!), try start(program(subject, "static")!),
          Double(size[.size] as! Int) / 1_024,
        ]
      })
  ]
}

private func program(_ subject: Subject, _ linking: String) -> String? {
  let path = ".build/hello/\(subject.name.lowercased())-\(linking)"
  return FileManager.default.isExecutableFile(atPath: path) ? path : nil
}

/// From the start of a program that runs a loop once to its end, in milliseconds.
private func start(_ program: String) throws -> Double {
  let times = try (0..<40).map { _ in
    var child: pid_t = 0
    var status: Int32 = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
    let start = Date.timeIntervalSinceReferenceDate
    try check(posix_spawn(&child, program, nil, nil, &arguments, environ) == 0, "no \(program)")
    waitpid(child, &status, 0)
    let time = Date.timeIntervalSinceReferenceDate - start
    try check(status == 0, "\(program) ended with status \(status)")
    return time * 1_000
  }
  return median(times)
}
