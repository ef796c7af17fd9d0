// SPDX-License-Identifier: Apache-2.0

/// What was found under PATH and not read, and why. Nothing is passed over in silence.
struct LeftOut: Equatable, Sendable {
  enum Reason: Int, CaseIterable, Sendable {
    case unreadable, fifo, socket, device, empty, link, otherFileSystem
    case binary, small, beyond, tooMany

    /// What so many of them are called.
    func phrase(_ count: Int) -> String {
      func few(_ one: String, _ many: String) -> String { count == 1 ? one : many }
      switch self {
      case .unreadable: return "unreadable"
      case .fifo: return few("FIFO", "FIFOs")
      case .socket: return few("socket", "sockets")
      case .device: return few("device", "devices")
      case .empty: return few("empty file", "empty files")
      case .link: return few("symbolic link", "symbolic links")
      case .otherFileSystem: return few("folder", "folders") + " on another file system"
      case .binary: return few("file", "files") + " that " + few("is", "are") + " no text"
      case .small: return few("small file", "small files")
      case .beyond: return few("file", "files") + " beyond the work wanted"
      case .tooMany: return few("folder", "folders") + " after too many files"
      }
    }

    /// Whether it may be a surprise, so that an example is named.
    var wantsExample: Bool {
      switch self {
      case .unreadable, .fifo, .socket, .device: true
      default: false
      }
    }
  }

  private struct Entry: Equatable, Sendable {
    var count = 0
    var example: String
  }
  private var entries: [Reason: Entry] = [:]

  mutating func add(_ reason: Reason, _ path: String, count: Int = 1, because cause: String? = nil)
  {
    let example = cause.map { "\(path.printable): \($0)" } ?? path.printable
    entries[reason, default: Entry(example: example)].count += count
  }

  func count(_ reason: Reason) -> Int { entries[reason]?.count ?? 0 }

  /// "2 unreadable (/x/y: Permission denied), 1 FIFO (/x/pipe)", or nil when nothing was.
  var summary: String? {
    let parts = Reason.allCases.compactMap { reason -> String? in
      guard let entry = entries[reason] else { return nil }
      let example = reason.wantsExample ? " (\(entry.count > 1 ? "as " : "")\(entry.example))" : ""
      return "\(entry.count) \(reason.phrase(entry.count))\(example)"
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
