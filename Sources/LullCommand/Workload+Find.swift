// SPDX-License-Identifier: Apache-2.0

extension Workload {
  /// The work that was asked for.
  ///
  /// - Throws: when the path cannot be read or holds nothing to read.
  static func found(for options: DemoOptions, progress: Progress) throws(Failure) -> Workload {
    if let pieces = options.pieces {
      return synthetic(pieces: pieces, cost: Nanoseconds((options.cost * 1e6).rounded()))
    }
    return try found(for: options.path, progress: progress)
  }

  /// The work of `path`, or without one of the first standard folder that has enough of it.
  private static func found(for path: String?, progress: Progress) throws(Failure) -> Workload {
    if let path { return try read(path, progress: progress) }
    var best: Workload?
    for folder in Demo.standardFolders {
      guard let workload = try? read(folder, progress: progress) else { continue }
      if workload.workTime > best?.workTime ?? 0 { best = workload }
      // Less would be over before much could be seen.
      if workload.workTime >= wanted * 3 / 4 { break }
    }
    guard let best else {
      throw Failure(
        message: "none of \(Demo.standardFolders.joined(separator: ", ")) can be read; give a PATH")
    }
    return best
  }

  private static func read(_ path: String, progress: Progress) throws(Failure) -> Workload {
    let walk = try Walk(path) { count in progress.show("\(path): \(count) files found") }
    var builder = WorkloadBuilder(path: path, trial: FileTrial()) { share in
      progress.show("\(path): reading, \(Int(share * 100)) % of the work wanted")
    }
    let workload = builder.build(from: walk.files, leftOut: walk.leftOut)
    guard !workload.pieces.isEmpty else {
      let reason = workload.leftOut.summary.map { "left out: \($0)" } ?? "the folder is empty"
      throw Failure(message: "nothing to read under \(path) (\(reason))")
    }
    return workload
  }
}
