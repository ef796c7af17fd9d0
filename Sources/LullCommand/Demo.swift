// SPDX-License-Identifier: Apache-2.0
import Glibc

/// `lull demo`: the same work by every strategy, on the same main thread, in the same run.
enum Demo {
  /// Folders of text that a Debian with Swift and git has, in the order they are tried: the headers
  /// that Swift's C library needs, then documents and scripts, then libraries.
  static let standardFolders = ["/usr/include", "/usr/share", "/usr/lib"]
  /// 60 frames a second.
  static let period: Nanoseconds = 16_666_667
  static let inputPerSecond = 30
  /// How long frames run alone before the work is handed over.
  static let calm: Nanoseconds = 500_000_000

  @MainActor static func run(_ options: DemoOptions) throws {
    let progress = Progress()
    let workload = try Workload.found(for: options.path, progress: progress)
    progress.clear()
    _ = workload
  }
}
