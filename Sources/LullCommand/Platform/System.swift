// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization

// What the command asks of the system. All of its `unsafe` is in this folder.

/// A system call that failed, in the system's own words.
struct SystemError: Error, Equatable, CustomStringConvertible {
  var code: Int32

  static var last: SystemError { SystemError(code: errno) }

  var description: String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}

/// The monotonic clock, which the loop and its timers use too.
func monotonicNow() -> Nanoseconds { read(CLOCK_MONOTONIC) }

/// The processor's time that the calling thread has used.
func threadTime() -> Nanoseconds { read(CLOCK_THREAD_CPUTIME_ID) }

private func read(_ clock: clockid_t) -> Nanoseconds {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Nanoseconds(time.tv_sec) * 1_000_000_000 + Nanoseconds(time.tv_nsec)
}

extension timespec {
  init(_ moment: Nanoseconds) {
    self.init(tv_sec: Int(moment / 1_000_000_000), tv_nsec: Int(moment % 1_000_000_000))
  }
}

func sleep(until moment: Nanoseconds) {
  var time = timespec(moment)
  while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}

/// An open file, pipe end or folder, closed with its owner.
struct Descriptor: ~Copyable {
  let number: Int32

  init(owning number: Int32) { self.number = number }

  /// Opens for reading. A FIFO is not waited for.
  init(reading path: String) throws(SystemError) {
    number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard number >= 0 else { throw .last }
  }

  /// Makes a file or opens one; what it holds stays until it is written over.
  init(writing path: String) throws(SystemError) {
    number = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard number >= 0 else { throw .last }
  }

  deinit { close(number) }

  /// Reads up to `count` bytes at `offset` into the front of `buffer`; fewer at the file's end.
  func read(_ count: Int, at offset: Int, into buffer: inout [UInt8]) throws(SystemError) -> Int {
    precondition(count <= buffer.count)
    var done = 0
    while done < count {
      let got = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe pread(number, bytes.baseAddress! + done, count - done, offset + done)
      }
      if got < 0 {
        if errno == EINTR { continue }
        throw .last
      }
      if got == 0 { break }
      done += got
    }
    return done
  }

  /// Writes all of it, from the front.
  func write(_ text: String) throws(SystemError) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let sent = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(number, bytes.baseAddress, bytes.count)
      }
      if sent < 0 {
        if errno == EINTR { continue }
        throw .last
      }
      rest.removeFirst(sent)
    }
  }

  func truncate() throws(SystemError) {
    // A device or pipe has no length to take away.
    guard ftruncate(number, 0) == 0 || errno == EINVAL else { throw .last }
  }
}

/// What a path names.
struct FileStatus: Equatable {
  enum Kind: Equatable {
    case file, folder, link, fifo, socket, device
  }
  var kind: Kind
  var size: Int
  /// Which file system it is on, and which file there.
  var device: UInt
  var inode: UInt

  init(of path: String, followingLinks: Bool) throws(SystemError) {
    var status = stat()
    let flags = followingLinks ? 0 : AT_SYMLINK_NOFOLLOW
    guard unsafe fstatat(AT_FDCWD, path, &status, flags) == 0 else { throw .last }
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      case S_IFIFO: .fifo
      case S_IFSOCK: .socket
      default: .device
      }
    size = Int(status.st_size)
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
  }
}

/// The names in a folder, sorted by their bytes, without "." and "..".
func names(in folder: String) throws(SystemError) -> [String] {
  guard let stream = unsafe opendir(folder) else { throw .last }
  defer { unsafe closedir(stream) }
  var result: [String] = []
  while let entry = unsafe readdir(stream) {
    let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
    let start = unsafe UnsafeRawPointer(entry).advanced(by: offset)
    let name = unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
    if name != "." && name != ".." { result.append(name) }
  }
  return result.sorted()
}

/// A pipe whose messages are moments of the clock.
struct StampPipe: ~Copyable {
  let readEnd: Descriptor
  let writeEnd: Descriptor

  init() throws(SystemError) {
    var ends: (Int32, Int32) = (-1, -1)
    let result = unsafe withUnsafeMutableBytes(of: &ends) { bytes in
      unsafe pipe2(bytes.assumingMemoryBound(to: Int32.self).baseAddress!, O_CLOEXEC | O_NONBLOCK)
    }
    guard result == 0 else { throw .last }
    readEnd = Descriptor(owning: ends.0)
    writeEnd = Descriptor(owning: ends.1)
  }

  /// One stamp, or nil when none has come.
  static func receive(from descriptor: Int32) -> Nanoseconds? {
    var stamp: Nanoseconds = 0
    let size = MemoryLayout<Nanoseconds>.size
    return unsafe read(descriptor, &stamp, size) == size ? stamp : nil
  }

  /// Eight bytes go into a pipe as a whole or not at all; a full one loses the event.
  static func send(_ stamp: Nanoseconds, to descriptor: Int32) {
    var stamp = stamp
    _ = unsafe write(descriptor, &stamp, MemoryLayout<Nanoseconds>.size)
  }
}

/// Asks the kernel, without waiting, whether there is something to read.
func isReadable(_ descriptor: Int32) -> Bool {
  var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&request, 1, 0) > 0
}

/// A thread that runs one body and can be waited for.
struct Thread: ~Copyable {
  private let handle: pthread_t

  init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var handle = pthread_t()
    let box = unsafe Unmanaged.passRetained(ThreadBody(body))
    let code = unsafe pthread_create(&handle, nil, runThreadBody, box.toOpaque())
    guard code == 0 else {
      unsafe box.release()
      throw SystemError(code: code)
    }
    self.handle = handle
  }

  consuming func join() { pthread_join(handle, nil) }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// No closure: one written in a main-actor function would be checked for being on the main actor.
private func runThreadBody(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let box = unsafe box {
    unsafe Unmanaged<ThreadBody>.fromOpaque(box).takeRetainedValue().run()
  }
  return nil
}

/// How long the calling thread has been ready to run and had no processor, since it began.
func runQueueDelay() -> Nanoseconds {
  guard let file = try? Descriptor(reading: "/proc/thread-self/schedstat") else { return 0 }
  var buffer = [UInt8](repeating: 0, count: 128)
  guard let count = try? file.read(buffer.count, at: 0, into: &buffer) else { return 0 }
  let fields = String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: " ")
  return fields.count > 1 ? Nanoseconds(fields[1]) ?? 0 : 0
}

/// How long a virtual machine's processors stood still because others had the real ones, in all
/// since it started. In steps of a hundredth of a second; 0 where it is not told.
func stolenTime() -> Nanoseconds {
  guard let file = try? Descriptor(reading: "/proc/stat") else { return 0 }
  var buffer = [UInt8](repeating: 0, count: 256)
  guard let count = try? file.read(buffer.count, at: 0, into: &buffer) else { return 0 }
  let line = String(decoding: buffer.prefix(count), as: UTF8.self).prefix { $0 != "\n" }
  // cpu user nice system idle iowait irq softirq steal
  let fields = line.split(separator: " ")
  return fields.count > 8 ? (Nanoseconds(fields[8]) ?? 0) * 10_000_000 : 0
}

func environment(_ name: String) -> String? {
  unsafe getenv(name).map { unsafe String(cString: $0) }
}

func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

/// The terminal's width in columns, nil for anything else.
func terminalWidth(_ descriptor: Int32) -> Int? {
  var size = winsize()
  guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
  return Int(size.ws_col)
}

/// Writes to standard output or error; what cannot be written there has nowhere else to go.
func say(_ text: String, to descriptor: Int32 = STDOUT_FILENO) {
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let sent = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    if sent < 0 && errno != EINTR { return }
    rest.removeFirst(max(0, sent))
  }
}
