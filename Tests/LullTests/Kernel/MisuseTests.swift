// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull
import Testing

@Suite struct `Misuse traps and names the remedy` {
  /// What the process said as it died.
  private func expectWords(
    _ words: String, in result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation
  ) {
    // An optimised program traps without a word.
    #if DEBUG
      let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(text.contains(words), "\(text)", sourceLocation: location)
    #endif
  }

  @Test func `when a loop is run off its thread`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let runner = LoopRunner()
      RealThread { _ = runner.loop.run(in: .default, for: .zero) }.join()
    }
    expectWords("perform(in:_:) gets you there", in: result)
  }

  @Test func `when contents are asked for off its thread`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let runner = LoopRunner()
      RealThread { _ = runner.loop.modes }.join()
    }
    expectWords("belongs to the loop's own thread", in: result)
  }

  @Test func `when an item of another loop is added`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let (one, two) = (LoopRunner(), LoopRunner())
      let timer = one.loop.schedule(after: .seconds(60)) { _ in }
      two.loop.add(timer)
    }
    expectWords("remove it there first", in: result)
  }

  @Test func `when a main-actor item is added to another loop`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let runner = LoopRunner()
      runner.loop.add(Loop.main.makeTimer(at: .now) { _ in })
    }
    expectWords("main actor", in: result)
  }

  @Test func `when a block has no modes`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      LoopRunner().loop.perform(in: []) {}
    }
    expectWords("name at least one", in: result)
  }

  @Test func `when a timer is fired off its loop's thread`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let runner = LoopRunner()
      runner.loop.schedule(after: .seconds(60)) { _ in }.fire()
    }
    expectWords("perform { timer.fire() }", in: result)
  }

  @Test func `when somebody closes the descriptors of the loop`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      onLoopThread { loop in
        loop.add(Loop.Source { _ in })
        for number in CInt(3)..<256 where isOfLoops(number) { close(number) }
        loop.run()
      }
    }
    expectWords("close only descriptors that are yours", in: result)
  }
}

/// Whether it is of the kind that loops make for themselves; those on poll(2) have no epoll.
private func isOfLoops(_ number: CInt) -> Bool {
  var target = [CChar](repeating: 0, count: 64)
  let length = unsafe readlink("/proc/self/fd/\(number)", &target, 63)
  let bytes = target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
  return String(decoding: bytes, as: UTF8.self)
    .contains(BackEnd.forced == .poll ? "eventfd" : "eventpoll")
}
