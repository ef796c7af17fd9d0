// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull
import XCTest

/// The main loop on the process's main thread, which only XCTest keeps its tests on.
///
/// The class is of no actor: the runner cannot call a test that is.
final class MainLoopTests: XCTestCase {
  func testMainActorClosuresTouchMainActorState() {
    onMain { bench in
      Loop.main.schedule(after: .milliseconds(1)) { _ in
        bench.marks.append("timer")
        Loop.main.perform {
          bench.marks.append("block")
          Loop.main.stop()
        }
      }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["timer", "block"])
    }
  }

  func testTheDispatchMainQueueAndMainActorTasksRun() {
    onMain { bench in
      DispatchQueue.main.async { bench.marks.append("dispatch") }
      Task { @MainActor in
        bench.marks.append("task")
        await Task.detached {}.value
        bench.marks.append("task again")
        Loop.main.stop()
      }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["dispatch", "task", "task again"])
    }
  }

  func testTheMainQueueRunsInTheTurnsOfAHost() throws {
    guard BackEnd.forced == nil || BackEnd.forced == .epoll else {
      // Other back ends have no descriptor for a host, and say so.
      return XCTAssertThrowsError(try MainActor.assumeIsolated { try Loop.main.pollDescriptor })
    }
    try onMain { bench in
      DispatchQueue.main.async { bench.mark("dispatch") }
      Task { @MainActor in
        bench.mark("task")
        await Task.detached {}.value
        bench.mark("task again")
        Loop.main.stop()
      }
      var wanted = pollfd(
        fd: try Loop.main.pollDescriptor, events: Int16(POLLIN), revents: 0)
      repeat {
        let ready = unsafe poll(&wanted, 1, 30_000)
        XCTAssertEqual(ready, 1)
        guard ready == 1 else { break }
      } while Loop.main.turn() != .stopped
      Loop.main.endTurns()
      XCTAssertNil(Loop.main.currentMode)
      XCTAssertEqual(bench.marks, ["dispatch", "task", "task again"])
    }
  }

  /// Five blocks run in one drain, and that is one handled source.
  func testADrainOfTheMainQueueIsOneHandledSource() {
    onMain { bench in
      for number in 1...5 { DispatchQueue.main.async { bench.marks.append("\(number)") } }
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.marks, ["1", "2", "3", "4", "5"])
    }
  }

  func testTheMainQueueIsDrainedInAllCommonModesOfTheMainLoop() {
    onMain { bench in
      for mode in [Loop.Mode.default, .modalPanel, .eventTracking] {
        DispatchQueue.main.async { bench.marks.append("\(mode)") }
        XCTAssertEqual(bench.run(mode, once: true), .handledSource)
      }
      XCTAssertEqual(bench.marks.count, 3)
    }
  }

  func testTheMainQueueWaitsWhileACustomModeRuns() {
    onMain { bench in
      let custom = Loop.Mode("custom")
      DispatchQueue.main.async { bench.marks.append("dispatch") }
      Loop.main.schedule(after: .milliseconds(5), in: custom) { _ in
        bench.marks.append("custom")
      }
      XCTAssertEqual(bench.run(custom), .finished)
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.marks, ["custom", "dispatch"])
    }
  }

  /// In a job of the main queue it is not drained, and an empty mode comes back at once.
  func testTheMainQueueIsNotDrainedInsideItself() {
    onMain { bench in
      DispatchQueue.main.async {
        DispatchQueue.main.async { bench.marks.append("inner") }
        bench.marks.append("\(bench.run())")
      }
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.marks, ["finished", "inner"])
    }
  }

  /// A nested run in such a job leaves the queue served after it.
  func testTheMainQueueIsServedAfterANestedRunInsideOfIt() {
    onMain { bench in
      DispatchQueue.main.async {
        Loop.main.schedule(after: .milliseconds(2)) { _ in Loop.main.stop() }
        DispatchQueue.main.async { bench.marks.append("later") }
        bench.marks.append("\(bench.run())")
      }
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.marks, ["stopped", "later"])
    }
  }

  /// flutter-team-archive/engine#27732: a wake-up that goes by way of the main queue does not come
  /// while that queue is held.
  func testANestedRunInsideTheMainQueueIsWokenFromAnotherThread() {
    onMain { bench in
      DispatchQueue.main.async {
        let loop = Loop.main.loop
        let keeper = Loop.main.schedule(after: .seconds(60)) { _ in }
        DispatchQueue.global().async {
          while !loop.isWaiting { sched_yield() }
          loop.idle.forEach(0..<1) { _, _ in
            loop.stop()
            return .continue
          }
        }
        bench.marks.append("\(bench.run())")
        keeper.invalidate()
      }
      XCTAssertEqual(bench.run(once: true), .handledSource)
      XCTAssertEqual(bench.marks, ["stopped"])
    }
  }

  /// swift-corelibs-foundation#2806, gnustep/libs-base#378: its event was never taken, and every
  /// later run came back at once, or spun.
  func testTheMainQueuesEventIsTaken() {
    onMain { bench in
      for _ in 0..<3 {
        DispatchQueue.main.async { bench.marks.append("dispatch") }
        XCTAssertEqual(bench.run(once: true), .handledSource)
      }
      let observer = Loop.main.makeObserver(.afterWaiting) { _, _ in bench.marks.append("woke") }
      Loop.main.add(observer)
      Loop.main.schedule(after: .milliseconds(20)) { _ in Loop.main.stop() }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["dispatch", "dispatch", "dispatch", "woke"])
      observer.invalidate()
    }
  }

  /// swift-corelibs-foundation#3580: libdispatch ends the process when it has no descriptor for its
  /// main queue. The probe takes all there are, runs, and gives them back.
  func testAMainLoopWithoutDescriptorsRuns() {
    var path = [CChar](repeating: 0, count: 4_096)
    let length = unsafe readlink("/proc/self/exe", &path, path.count - 1)
    let bytes = path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
    let program = String(decoding: bytes, as: UTF8.self)
    let folder = program.prefix(upTo: program.lastIndex(of: "/") ?? program.startIndex)
    guard let output = unsafe popen("'\(folder)/WakeProbe' exhausted", "r") else {
      return XCTFail("no process")
    }
    var said = [CChar](repeating: 0, count: 256)
    let count = unsafe fread(&said, 1, said.count, output)
    XCTAssertEqual(unsafe pclose(output), 0)
    let text = String(decoding: said.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    XCTAssertEqual(text, "begin\nend timedOut stopped\n")
  }

  /// The main loop waits in its common modes though they are empty; elsewhere it comes back.
  func testCommonModesOfTheMainLoopAreNeverEmpty() {
    onMain { bench in
      XCTAssertEqual(Loop.main.run(in: .eventTracking, for: .milliseconds(5)), .timedOut)
      XCTAssertEqual(Loop.main.run(in: Loop.Mode("unused"), for: .milliseconds(5)), .finished)
    }
  }

  func testItIsTheLoopOfTheMainThread() {
    onMain { bench in
      XCTAssert(Loop.current === Loop.main.loop)
      XCTAssert(Loop.main.loop.isCurrent)
    }
  }

  func testIdlePiecesRunOnTheMainActor() {
    onMain { bench in
      Loop.main.idle.forEach(1...3, onEnd: { _ in Loop.main.stop() }) { index, element in
        bench.marks.append("\(index):\(element)")
        return .continue
      }
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["0:1", "1:2", "2:3"])
    }
  }

  func testMailboxesAndSignalsCallTheMainActor() throws {
    let thread = try LoopThread()
    try onMain { bench in
      let mailbox = Loop.main.makeMailbox(of: Int.self) { _, values in
        bench.marks.append("\(values)")
        kill(getpid(), SIGUSR1)
      }
      Loop.main.add(mailbox)
      let source = try Loop.main.makeSignalSource(SIGUSR1) { _, count in
        bench.marks.append("signal \(count)")
        Loop.main.stop()
      }
      try Loop.main.add(source, to: .common)
      let sent = DispatchSemaphore(value: 0)
      thread.loop.perform {
        for value in 1...3 { try? mailbox.send(value) }
        sent.signal()
      }
      sent.wait()
      XCTAssertEqual(bench.run(), .stopped)
      XCTAssertEqual(bench.marks, ["[1, 2, 3]", "signal 1"])
      mailbox.invalidate()
      source.invalidate()
    }
    thread.stop()
    thread.join()
  }
}
