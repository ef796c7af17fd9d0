// SPDX-License-Identifier: Apache-2.0

import Lull

/// Each makes ready, and returns what carries out a batch.
typealias Operation = @Sendable () throws -> () -> Void

let operations: KeyValuePairs<String, Operation> = [
  "pass": {
    try watchPipe()
    return { repeatedly { lookAround() } }
  },
  "pass-observed": {
    loop.observe(.all) { _, _ in }
    return { repeatedly { lookAround() } }
  },
  "run-nested": {
    {
      loop.perform { repeatedly { lookAround() } }
      lookAround()
    }
  },
  "turn": {
    _ = try loop.pollDescriptor
    return { repeatedly { loop.turn() } }
  },

  "post": {
    {
      for _ in 0..<times { loop.perform { note() } }
      lookAround()
    }
  },
  "post-capturing": {
    {
      for number in 0..<times { loop.perform { note(number) } }
      lookAround()
    }
  },
  "post-elsewhere": {
    let posts = try Elsewhere { for _ in 0..<times { loop.perform { note() } } }
    return {
      posts()
      lookAround()
    }
  },
  "post-elsewhere-capturing": {
    let posts = try Elsewhere { for number in 0..<times { loop.perform { note(number) } } }
    return {
      posts()
      lookAround()
    }
  },
  "post-asleep": {
    let posts = try Elsewhere {
      for _ in 0..<times {
        while !loop.isWaiting {}
        loop.perform { noteUntilLast {} }
      }
    }
    return {
      posts.begin()
      loop.run()
      posts.finish()
    }
  },
  "hop": {
    {
      hop()
      loop.run()
    }
  },

  "signal-elsewhere": {
    let source = Loop.Source { _ in noteUntilLast(signalAgain) }
    loop.add(source)
    try signal { source.signal() }
    return {
      signalAgain()
      loop.run()
    }
  },
  "send-elsewhere": {
    let mailbox = Loop.Mailbox<Int> { _, _ in noteUntilLast(signalAgain) }
    loop.add(mailbox)
    try signal { try? mailbox.send(1) }
    return {
      signalAgain()
      loop.run()
    }
  },
  "send-burst-elsewhere": {
    let mailbox = Loop.Mailbox<Int> { _, values in for value in values { note(value) } }
    loop.add(mailbox)
    let sends = try Elsewhere { for number in 0..<times { try? mailbox.send(number) } }
    return {
      sends()
      lookAround()
    }
  },

  "timer-repeats": {
    let timer = loop.schedule(every: .milliseconds(1)) { _ in noteUntilLast {} }
    return {
      timer.nextFire = loop.now
      loop.run()
    }
  },
  "timer-once": {
    {
      tick()
      loop.run()
    }
  },
  "timer-rearmed": {
    let timer = farTimer { timer in noteUntilLast { timer.nextFire = soon } }
    return {
      timer.nextFire = soon
      loop.run()
    }
  },
  "timer-put-off": {
    let timer = farTimer { _ in }
    return { repeatedly { putOff(timer) } }
  },
  "timer-put-off-elsewhere": {
    let timer = farTimer { _ in }
    let puts = try Elsewhere { repeatedly { putOff(timer) } }
    return {
      puts()
      lookAround()
    }
  },

  "descriptor-event": {
    let pipe = try watchPipe { pipe in
      pipe.read()
      noteUntilLast { pipe.write() }
    }
    return {
      pipe.write()
      loop.run()
    }
  },
  "descriptor-watched": {
    let pipe = Pipe()
    return {
      repeatedly { try? loop.watch(pipe.output, for: .readable) { _, _ in }.invalidate() }
    }
  },

  "idle-piece": {
    makeIdleTimeEndless()
    return {
      loop.idle.forEach(0..<times, key: idleKey) { index, _ in
        noteUntilLast {}
        return .continue
      }
      loop.run()
    }
  },
  "idle-object": {
    makeIdleTimeEndless()
    return {
      for number in 0..<times {
        loop.idle.enqueue(number, key: idleKey) { _, _ in
          noteUntilLast {}
          return .continue
        }
      }
      loop.run()
    }
  },
]
