// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lull

/// The main loop as a guest: the thread belongs to a loop of somebody else's, here a bare poll(2)
/// over its own descriptor and ours. A toolkit or a game does the same.
@main
@MainActor
enum Guest {
  static func main() throws {
    Loop.main.schedule(after: .milliseconds(20)) { _ in print("guest: a timer") }
    // Main-actor code runs in turns too, and so does what came by the dispatch main queue.
    Task {
      print("guest: a task of the main actor")
      await Task.detached {}.value
      print("guest: and again, after an await")
    }

    var ends: [CInt] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { return perror("pipe") }
    var wanted = [
      pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0),
      pollfd(fd: try Loop.main.pollDescriptor, events: Int16(POLLIN), revents: 0),
    ]
    Loop.main.schedule(after: .milliseconds(40)) { _ in
      var byte: UInt8 = 7
      unsafe write(ends[1], &byte, 1)
    }

    // The host's loop. It ends when a guest's callout asks for that.
    var isOver = false
    while !isOver {
      unsafe poll(&wanted, 2, -1)
      if wanted[1].revents != 0 { isOver = Loop.main.turn() == .stopped }
      if wanted[0].revents != 0 {
        var byte: UInt8 = 0
        unsafe read(ends[0], &byte, 1)
        print("host: a byte of its own")
        Loop.main.stop()
      }
    }
    Loop.main.endTurns()
    print("host: over")
  }
}
