// SPDX-License-Identifier: Apache-2.0

/// The strategies of a run of the demo, in the order they are played.
struct Cast: Sendable {
  private(set) var strategies: [any Strategy] = [
    NoWork(), AllAtOnce(), OnePerPass(), KernelOnly(),
  ]
  private(set) var absent: [Absent] = []

  /// A strategy that cannot be played here.
  struct Absent: Equatable, Sendable {
    var name: String
    var reason: String
  }

  /// - Parameter comparing: whether the rules of others are played as well.
  init(comparing: Bool) {
    if comparing {
      strategies += [BatchPerPass(), Slices(), IdleDeadline()] as [any Strategy]
    }
    strategies.append(Lulls())
  }
}
