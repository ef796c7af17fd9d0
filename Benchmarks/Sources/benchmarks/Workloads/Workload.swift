// SPDX-License-Identifier: Apache-2.0

import CSubjects
import Glibc

/// Something to measure, the same for all subjects.
struct Workload: Sendable {
  let name: String
  /// What a measurement gives, in order. A row without a name is called as the workload.
  let rows: [Row]
  /// How many rounds are enough.
  var rounds = Int.max
  /// The whole process stays on one CPU.
  var onOneCPU = false
  /// The kernel places the threads.
  var isFree = false
  /// Whether a subject can do it.
  let fits: @Sendable (Subject) -> Bool
  let measure: @Sendable (Subject) throws -> [Double]

  struct Row: Sendable {
    var name = ""
    let unit: String
  }

  var rowNames: [String] { rows.map { $0.name.isEmpty ? name : "\(name) \($0.name)" } }

  static let all: [Workload] =
    posting + hopping + timers + ticks + descriptors + passes + idle + memory + startup

  static func everybody(_ subject: Subject) -> Bool { true }
}

/// Work that was not done as it should have been: the measurement says nothing.
struct Wrong: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

func check(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  if !holds { throw Wrong(what()) }
}

/// What callbacks of most workloads do: count down, and stop the loop.
struct Tally {
  let stop: @convention(c) (UnsafeMutableRawPointer) -> Void
  let loop: UnsafeMutableRawPointer
  var left = 0
  var sum: UInt64 = 0
  var end: UInt64 = 0

  /// Counts every call from now on.
  static func begin(_ subject: Subject, _ loop: UnsafeMutableRawPointer)
    -> UnsafeMutablePointer<Tally>
  {
    let tally = UnsafeMutablePointer<Tally>.allocate(capacity: 1)
    tally.initialize(to: Tally(stop: subject.calls.stop, loop: loop))
    bench_on_call(count, tally)
    return tally
  }
}

private func count(_ state: UnsafeMutableRawPointer, _ value: UInt64) {
  let tally = state.assumingMemoryBound(to: Tally.self)
  tally.pointee.sum &+= value
  tally.pointee.left -= 1
  if tally.pointee.left == 0 {
    tally.pointee.end = bench_now()
    tally.pointee.stop(tally.pointee.loop)
  }
}

/// Finds how much work takes a quarter of a second, does it, and gives nanoseconds for each; or as
/// many nanoseconds as are `lasting`.
///
/// `work` does a number of things and returns how many nanoseconds they took together.
func nanosecondsEach(
  start: Int = 1_000, lasting: Double = 250_000_000, _ work: (Int) throws -> UInt64
) rethrows -> Double {
  var amount = start
  var time = try work(amount)
  while time < 30_000_000 {
    amount *= 4
    time = try work(amount)
  }
  amount = max(1, Int(Double(amount) * lasting / Double(time)))
  return Double(try work(amount)) / Double(amount)
}

/// The value that a part of all are below.
func quantile(_ part: Double, _ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
}

/// A thread, since Foundation's would be part of what is measured.
final class Worker {
  private var thread = pthread_t()

  /// - Parameter cpu: Where it runs; nil to leave that to the kernel.
  init(cpu: Int32?, _ body: @escaping () -> Void) {
    let start = Unmanaged.passRetained(Start(cpu: cpu, body: body)).toOpaque()
    let code = pthread_create(&thread, nil, runWorker, start)
    precondition(code == 0, "no thread: error \(code)")
  }

  func join() { pthread_join(thread, nil) }

  fileprivate final class Start {
    let cpu: Int32?
    let body: () -> Void
    init(cpu: Int32?, body: @escaping () -> Void) {
      self.cpu = cpu
      self.body = body
    }
  }
}

private func runWorker(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let start = Unmanaged<Worker.Start>.fromOpaque(start!).takeRetainedValue()
  if let cpu = start.cpu { bench_pin(cpu) }
  start.body()
  return nil
}

/// Lets one thread wait for another, once for each opening.
final class Latch: @unchecked Sendable {  // a semaphore is made for that
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  func open() { sem_post(semaphore) }

  func wait() { while sem_wait(semaphore) != 0 {} }
}

extension Subject {
  /// Where a thread belongs that is not the loop's.
  var otherCPU: Int32? { usesPool ? nil : 1 }
}
