// SPDX-License-Identifier: Apache-2.0

/// What we want a row to be at most.
struct Goal: Sendable {
  /// Against the best peer, or the one in `named`.
  var toPeer: Double?
  var named: String?
  /// Where the kernel decides: as good is what is this little worse than raw's own ratio.
  var slackToRawsRatio: Double?
  /// Against raw.
  var toRaw: Double?
  /// In the row's own unit.
  var figure: Double?
  /// Only peers count whose ticks do not drift.
  var ofSteadyPeers = false

  static func row(_ name: String) -> Goal { all[name] ?? Goal() }

  private static let all: [String: Goal] = [
    "post": Goal(toPeer: 0.35, toRaw: 1.0),
    "post, 4 threads": Goal(toPeer: 0.35, toRaw: 1.0),
    "post capturing": Goal(toPeer: 0.8, toRaw: 1.2),
    "post capturing, 4 threads": Goal(toPeer: 0.8, toRaw: 1.2),
    "send a word": Goal(toPeer: 0.35, toRaw: 1.0),
    "send a signal": Goal(toPeer: 0.35, toRaw: 1.0),
    "ping-pong, 1 CPU": Goal(toPeer: 0.85, toRaw: 1.15),
    "ping-pong, free": Goal(toPeer: 0.4, named: "Dispatch"),
    "wake, 1 CPU p50": Goal(toPeer: 1.0, toRaw: 1.1),
    "wake, 1 CPU p99": Goal(toPeer: 1.0, toRaw: 1.1),
    "wake, 2 CPUs p50": Goal(toPeer: 1.0, slackToRawsRatio: 0.05),
    "wake, 2 CPUs p99": Goal(toPeer: 1.0, slackToRawsRatio: 0.05),
    "hop": Goal(toPeer: 0.6, toRaw: 1.5),
    "hop by a signal": Goal(toPeer: 0.6, toRaw: 1.5),
    "timers, 1 k sum": Goal(toPeer: 1.3, named: "libev", toRaw: 2.0),
    "timers, 100 k sum": Goal(toPeer: 0.9, named: "libev", toRaw: 1.6),
    "timers, 100 k put off": Goal(toPeer: 0.6, named: "libev"),
    "timers, 1 M sum": Goal(toPeer: 0.9, named: "libev", toRaw: 1.6),
    "fire 1 M in 1 s": Goal(toPeer: 0.4, named: "libev", toRaw: 0.75),
    "tick, 1 ms p50": Goal(toPeer: 1.05, toRaw: 1.1, ofSteadyPeers: true),
    "tick, 1 ms p99": Goal(toPeer: 1.05, toRaw: 1.1, ofSteadyPeers: true),
    "tick, 16.667 ms p50": Goal(toPeer: 1.05, toRaw: 1.1, ofSteadyPeers: true),
    "tick, 16.667 ms p99": Goal(toPeer: 1.05, toRaw: 1.1, ofSteadyPeers: true),
    "precise tick, 16.667 ms p50": Goal(figure: 2),
    "ring, 100 pairs": Goal(toPeer: 1.05, slackToRawsRatio: 0.05, toRaw: 1.08),
    "ring, 1 000 pairs": Goal(toPeer: 1.05, slackToRawsRatio: 0.05, toRaw: 1.08),
    "empty pass": Goal(toPeer: 0.5, named: "GLib", toRaw: 1.2),
    "empty pass, six observers": Goal(toPeer: 0.1, named: "CFRunLoop"),
    "nested run, 1 000 descriptors": Goal(toPeer: 0.05, named: "CFRunLoop"),
    "empty idle piece": Goal(figure: 4),
    "add an idle item": Goal(figure: 1.6),
    "add an idle item from another thread": Goal(figure: 1.6),
    "memory of a timer": Goal(figure: 128),
    "memory of a descriptor source": Goal(figure: 192),
    "memory of a loop": Goal(figure: 8_192),
    "memory of a queued idle item": Goal(figure: 120),
    "start-up dynamic": Goal(toPeer: 0.5, named: "Foundation"),
    "start-up static": Goal(toPeer: 0.65, named: "Foundation"),
    "start-up size, static": Goal(toPeer: 0.15, named: "Foundation"),
    "idle loop CPU": Goal(figure: 0),
    "idle loop wake-ups": Goal(figure: 0),
  ]
}
