// SPDX-License-Identifier: Apache-2.0

/// A file that may be read.
struct Candidate: Equatable, Sendable {
  var path: String
  var size: Int
}

/// The files under a path, in a fixed order: folder by folder from the top, by name within each.
struct Walk {
  private(set) var files: [Candidate] = []
  private(set) var leftOut = LeftOut()

  private var folders: [String] = []
  private var device: UInt = 0
  /// A file with several names is read once.
  private var seen: Set<UInt> = []

  /// - Parameters:
  ///   - limit: no folder is opened after this many names, since PATH may be a whole disk.
  ///   - progress: told after each folder how many files were found.
  /// - Throws: when `root` is missing, unreadable, or neither a file nor a folder.
  init(_ root: String, limit: Int = 200_000, progress: (Int) -> Void = { _ in }) throws(Failure) {
    let status: FileStatus
    do {
      status = try FileStatus(of: root, followingLinks: true)
    } catch {
      throw Failure(message: "\(root): \(error)")
    }
    device = status.device
    switch status.kind {
    case .file: take(root, status)
    case .folder: try walk(root, limit: limit, progress: progress)
    case .fifo: throw Failure(message: "\(root) is a FIFO; name a folder or a file")
    case .socket: throw Failure(message: "\(root) is a socket; name a folder or a file")
    case .device, .link: throw Failure(message: "\(root) is a device; name a folder or a file")
    }
  }

  private mutating func walk(
    _ root: String, limit: Int, progress: (Int) -> Void
  ) throws(Failure) {
    var looked = 0
    var next = 0
    folders = [root]
    while next < folders.count, looked < limit {
      let folder = folders[next]
      next += 1
      do {
        for name in try names(in: folder) {
          look(at: folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)")
          looked += 1
        }
      } catch {
        // Without the root there is nothing; without another folder there are the others.
        if folder == root { throw Failure(message: "\(root): \(error)") }
        leftOut.add(.unreadable, folder, because: "\(error)")
      }
      progress(files.count)
    }
    if next < folders.count {
      leftOut.add(.tooMany, folders[next], count: folders.count - next)
    }
  }

  private mutating func look(at path: String) {
    let status: FileStatus
    do {
      status = try FileStatus(of: path, followingLinks: false)
    } catch {
      leftOut.add(.unreadable, path, because: "\(error)")
      return
    }
    switch status.kind {
    case .file: take(path, status)
    case .folder:
      // What is mounted below may be a network, or files that the kernel makes up.
      if status.device == device {
        folders.append(path)
      } else {
        leftOut.add(.otherFileSystem, path)
      }
    case .link: leftOut.add(.link, path)
    case .fifo: leftOut.add(.fifo, path)
    case .socket: leftOut.add(.socket, path)
    case .device: leftOut.add(.device, path)
    }
  }

  private mutating func take(_ path: String, _ status: FileStatus) {
    guard seen.insert(status.inode).inserted else { return }
    if status.size > 0 {
      files.append(Candidate(path: path, size: status.size))
    } else {
      leftOut.add(.empty, path)
    }
  }
}
