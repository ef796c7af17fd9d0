// SPDX-License-Identifier: Apache-2.0

import CTestSupport
import Dispatch
import Glibc
import Lull
import Testing

/// A loop whose thread waits in a poll(2) of its host's, or in another loop.
@Suite(.enabled(if: BackEnd.forced == nil || BackEnd.forced == .epoll)) struct `A guest` {
  /// Each by itself makes the descriptor readable; a turn makes it silent.
  @Test func `asks for a turn when there is something to do, and for none else`() {
    onLoopThread { loop in
      loop.add(Loop.Source { _ in })
      let descriptor = try! loop.pollDescriptor
      #expect(isReadable(descriptor), "before the first turn")
      loop.turn()
      #expect(!isReadable(descriptor))

      let pipe = Pipe()
      let heard = Counter()
      let source = Loop.Source { _ in heard.add() }
      let reader = Loop.DescriptorSource(pipe.reader, for: .readable) { _, _ in
        _ = pipe.read(9)
        heard.add()
      }
      let hourly = loop.schedule(every: .seconds(3_600)) { _ in heard.add() }
      // What takes effect by itself, or leaves nothing to do.
      let silent: Set = ["a descriptor source added", "an item gone"]
      let causes: [(String, () -> Void)] = [
        ("a block", { loop.perform { heard.add() } }),
        ("a source added", { loop.add(source) }),
        ("a signal", { source.signal() }),
        ("a descriptor source added", { try! loop.add(reader) }),
        ("a ready descriptor", { pipe.write(1) }),
        ("another interest", { reader.interest = [] }),
        ("a due timer", { loop.schedule(after: .zero) { _ in heard.add() } }),
        ("a new date", { hourly.nextFire = loop.now }),
        ("a wake-up", { loop.wakeUp() }),
        ("an item gone", { source.invalidate() }),
        ("idle work", { loop.idle.forEach([1]) { _, _ in .stop } }),
        ("a stop", { loop.stop() }),
      ]
      for (name, cause) in causes {
        for isElsewhere in [false, true] {
          if isElsewhere { elsewhere(cause) } else { cause() }
          #expect(isReadable(descriptor) || silent.contains(name), "\(name)")
          while isReadable(descriptor) { loop.turn() }
        }
      }
      #expect(heard.value >= 10)
      #expect((try? loop.pollDescriptor) == descriptor)
      loop.endTurns()
    }
  }

  /// A host may ask at each of its turns.
  @Test func `with nothing in it is silent, whoever asks for its descriptor`() {
    onLoopThread { loop in
      let descriptor = try! loop.pollDescriptor
      #expect(isReadable(descriptor))
      for _ in 0..<2 {
        #expect(loop.turn() == .finished)
        #expect((try? loop.pollDescriptor) == descriptor)
        #expect(!isReadable(descriptor))
      }
      elsewhere { loop.perform {} }
      #expect(isReadable(descriptor))
      loop.endTurns()
    }
  }

  @Test func `is given its turn at the date of its timer, also of one set earlier`() {
    onLoopThread { loop in
      let fired = Cell<[Int]>([])
      loop.schedule(after: .seconds(3_600)) { _ in }
      loop.turn()
      let descriptor = try! loop.pollDescriptor
      while isReadable(descriptor) { loop.turn() }
      let early = loop.schedule(after: .seconds(1_800)) { _ in fired.update { $0.append(1) } }
      loop.turn()
      elsewhere { early.nextFire = .now.advanced(by: .milliseconds(2)) }
      while fired.value.isEmpty {
        waitUntilReadable(descriptor)
        loop.turn()
      }
      #expect(fired.value == [1])
    }
  }

  @Test func `loses no post, and is silent when all are served`() {
    onLoopThread { loop in
      loop.add(Loop.Source { _ in })
      let descriptor = try! loop.pollDescriptor
      let count = Counter()
      let rounds = 2_000 * stress
      let senders = (0..<4).map { seed in
        RealThread {
          var dice = Dice(seed: seed)
          for _ in 0..<rounds {
            loop.perform { if count.add() == 4 * rounds { loop.stop() } }
            dice.dawdle(100)
          }
        }
      }
      repeat { waitUntilReadable(descriptor) } while loop.turn() != .stopped
      for sender in senders { sender.join() }
      #expect(count.value == 4 * rounds)
      while isReadable(descriptor) { loop.turn() }
      var turns = 0
      elsewhere { loop.perform { count.add() } }
      while isReadable(descriptor) {
        loop.turn()
        turns += 1
      }
      #expect(turns == 1, "one post took \(turns) turns")
    }
  }

  /// Before a turn, in it and after it, with something in the loop or not.
  @Test func `hears of every stop, at whatever moment it comes`() {
    for round in 0..<300 * stress {
      let found = Cell<Loop?>(nil)
      let stopped = Counter()
      let host = RealThread {
        let loop = Loop.current
        if round % 2 == 0 { loop.add(Loop.Source { _ in }) }
        let descriptor = try! loop.pollDescriptor
        found.value = loop
        repeat {
          waitUntilReadable(descriptor)
        } while loop.turn() != .stopped
        stopped.add()
        while isReadable(descriptor) { loop.turn() }
      }
      while found.value == nil { sched_yield() }
      var dice = Dice(seed: round)
      dice.dawdle(200)
      found.value?.stop()
      host.join()
      #expect(stopped.value == 1)
    }
  }

  @Test func `of another loop runs as that one's source`() {
    onLoopThread { loop in
      let host = Loop.makeSecond()
      let order = Cell<[String]>([])
      let descriptor = try! loop.pollDescriptor
      let turns = Loop.DescriptorSource(descriptor, for: .readable) { _, _ in
        loop.turn()
        if order.value.count == 3 { host.stop() }
      }
      try! host.add(turns)
      // Each sets off the next, on the other loop.
      loop.schedule(after: .milliseconds(1)) { _ in
        order.update { $0.append("guest") }
        host.schedule(after: .milliseconds(1)) { _ in
          order.update { $0.append("host") }
          loop.schedule(after: .milliseconds(1)) { _ in order.update { $0.append("guest again") } }
        }
      }
      #expect(host.run() == .stopped)
      #expect(order.value == ["guest", "host", "guest again"])
      turns.invalidate()  // It holds the host, which does not end with the thread.
    }
  }

  /// A slack of one nanosecond is for the loop's own waits: the host's are its own business.
  @Test func `leaves the timer slack of the thread alone`() {
    onLoopThread { loop in
      loop.host = nil
      let slack = test_timer_slack()
      loop.schedule(after: .milliseconds(1)) { _ in }
      let descriptor = try! loop.pollDescriptor
      while loop.turn() != .finished {
        #expect(test_timer_slack() == slack)
        waitUntilReadable(descriptor)
      }
      #expect(test_timer_slack() == slack)
    }
  }

  /// The kernel goes on reporting a file that lives on elsewhere; the loop takes a new epoll then.
  @Test func `keeps its descriptor when a watched one is closed behind its back`() {
    onLoopThread { loop in
      let pipe = Pipe()
      let number = dup(pipe.reader)
      let source = expectWatched(loop, number) { _, _ in Issue.record("called when invalid") }
      loop.add(Loop.Source { _ in })
      let descriptor = try! loop.pollDescriptor
      loop.turn()
      close(number)
      source?.invalidate()
      pipe.write(1)
      // Reported, and nobody's: after one more turn it is not any more.
      for _ in 0..<4 where isReadable(descriptor) { loop.turn() }
      #expect(!isReadable(descriptor))
      #expect((try? loop.pollDescriptor) == descriptor)
      for cause in [{ loop.perform {} }, { _ = loop.schedule(after: .zero) { _ in } }] {
        elsewhere(cause)
        #expect(isReadable(descriptor))
        while isReadable(descriptor) { loop.turn() }
      }
    }
  }

  @Test func `asks again in a child made by fork`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { loop in
        loop.add(Loop.Source { _ in })
        let descriptor = try! loop.pollDescriptor
        while isReadable(descriptor) { loop.turn() }
        let child = test_fork()
        if child == 0 {
          guard let own = try? loop.pollDescriptor else { return test_exit(1) }
          while isReadable(own) { loop.turn() }
          loop.perform {}
          return test_exit(isReadable(own) ? 0 : 2)
        }
        let code = test_wait_for(child)
        if code != 0 || isReadable(descriptor) { return test_exit(code == 0 ? 3 : code) }
        loop.perform {}
        test_exit(isReadable(descriptor) ? 0 : 4)
      }
    }
  }
}

private func isReadable(_ descriptor: CInt) -> Bool {
  var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&wanted, 1, 0) == 1
}

private func waitUntilReadable(_ descriptor: CInt) {
  var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  while unsafe poll(&wanted, 1, 60_000) < 0 {}
}

/// On another thread, which is waited for.
private func elsewhere(_ body: () -> Void) {
  withoutActuallyEscaping(body) { body in
    nonisolated(unsafe) let body = body
    RealThread { unsafe body() }.join()
  }
}
