// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Lull

// Does one thing, for a trace of system calls to count what it costs: see `Tools/check-wakeups`.
//
//   WakeProbe asleep SECONDS   a loop with one silent source sleeps
//   WakeProbe burst            1 000 posts to a loop that sleeps
//   WakeProbe awake            1 000 posts to a loop that is in a callout
//   WakeProbe exhausted        a main loop runs in a process that has no descriptor left
//
// Writes to standard output stand before and after what counts.

let words = Array(CommandLine.arguments.dropFirst())
let loop = Loop.current
loop.add(Loop.Source { _ in }, to: Loop.Mode("probe"))

/// Says something by one system call.
func say(_ text: String) { _ = unsafe write(1, text + "\n", text.utf8.count + 1) }

/// Posts from another thread, after `begin`, then calls `end`.
func posts(_ begin: @escaping @Sendable () -> Void, _ end: @escaping @Sendable () -> Void) {
  let loop = loop
  let isOver = DispatchSemaphore(value: 0)
  DispatchQueue.global().async {
    begin()
    say("begin")
    for number in 1...1000 {
      loop.perform(in: Loop.Mode("probe")) {
        // Once awake it stays so until the burst is over: what counts is the burst.
        if number == 1 { isOver.wait() }
        if number == 1000 { loop.stop() }
      }
    }
    isOver.signal()
    say("end")
    end()
  }
}

switch words.first {
case "asleep":
  say("begin")
  _ = loop.run(in: Loop.Mode("probe"), for: .seconds(words.count > 1 ? Int(words[1]) ?? 10 : 10))
  say("end")
case "burst":
  posts({ while !loop.isWaiting {} }, {})
  _ = loop.run(in: Loop.Mode("probe"))
case "awake":
  let isIn = DispatchSemaphore(value: 0)
  let isDone = DispatchSemaphore(value: 0)
  posts({ isIn.wait() }, { isDone.signal() })
  loop.perform(in: Loop.Mode("probe")) {
    isIn.signal()
    isDone.wait()
  }
  _ = loop.run(in: Loop.Mode("probe"))
case "exhausted":
  var limit = rlimit(rlim_cur: 64, rlim_max: 64)
  unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  var taken: [CInt] = []
  while taken.last != -1 { taken.append(dup(0)) }
  say("begin")
  let without = loop.run(in: .default, for: .milliseconds(5))
  for number in taken { close(number) }
  // With room again the main queue is watched.
  DispatchQueue.main.async { loop.stop() }
  let with = loop.run(in: .default, for: .seconds(60))
  say("end \(without) \(with)")
default:
  say("usage: WakeProbe asleep SECONDS | burst | awake | exhausted")
}
