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

  /// - Parameters:
  ///   - comparing: whether the rules of others are played as well.
  ///   - library: where GLib is looked for.
  init(comparing: Bool, glib library: String = GLib.library) {
    if comparing {
      strategies += [BatchPerPass(), Slices(), IdleDeadline()] as [any Strategy]
      do throws(Failure) {
        strategies.append(GLibIdle(glib: try GLib(from: library)))
      } catch {
        absent.append(Absent(name: GLibIdle.called, reason: error.message))
      }
    }
    strategies.append(Lulls())
  }
}
