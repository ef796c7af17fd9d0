// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// A named set of sources, timers and observers: a loop that runs in a mode serves only those.
  ///
  /// Modes compare by name. They select *sources*, not kinds of events: a run in a custom mode
  /// shields its work from everything registered elsewhere.
  ///
  /// ```swift
  /// extension Loop.Mode {
  ///   static let upload = Loop.Mode("com.example.upload")
  /// }
  /// ```
  ///
  /// Names are kept for the life of the process, so use a fixed few rather than one a request.
  public struct Mode: Hashable, Sendable, CustomStringConvertible {
    let id: Int32

    /// The mode called `name`. Equal names give equal modes. Any thread; takes a lock.
    public init(_ name: String) { id = ModeNames.shared.id(of: name) }

    /// The name.
    public var name: String { ModeNames.shared.name(of: id) }

    /// The name, for logs.
    public var description: String { name }

    /// Stands for whichever of several modes, which must be more than one. Kept like names.
    static func choice(of modes: [Mode]) -> Mode {
      Mode(id: ModeNames.shared.choice(of: modes.map(\.id)))
    }

    @inline(__always)
    var isChoice: Bool { id < 0 }

    /// The modes it stands for: itself, as a rule.
    var choices: [Mode] {
      isChoice ? ModeNames.shared.choices(id).map { Mode(id: $0) } : [self]
    }

    /// What a loop runs in most of the time.
    public static var `default`: Mode { Mode(id: 0) }

    /// Stands for a set of modes: what is added to it joins every mode of the set, now and later.
    ///
    /// The set holds ``default``, ``modalPanel`` and ``eventTracking`` on the main loop and
    /// ``default`` alone elsewhere; ``Loop/addCommonMode(_:)`` extends it. A loop cannot run in it.
    public static var common: Mode { Mode(id: 1) }

    /// While the user drags or scrolls. What must go on meanwhile belongs to ``common``.
    public static var eventTracking: Mode { Mode(id: 2) }

    /// While a modal panel is up.
    public static var modalPanel: Mode { Mode(id: 3) }

    /// While a call waits for its reply, shielded from everything else.
    public static var connectionReply: Mode { Mode(id: 4) }
  }
}

/// Every mode name of the process, once: two modes are equal when their numbers are.
private final class ModeNames: @unchecked Sendable {  // guarded by `lock`
  static let shared = ModeNames()

  private let lock = Lock()
  /// At first those that every program has, where `Mode` expects them.
  private var names = [
    "kCFRunLoopDefaultMode", "kCFRunLoopCommonModes", "NSEventTrackingRunLoopMode",
    "NSModalPanelRunLoopMode", "NSConnectionReplyMode",
  ]
  private var ids: [String: Int32] = [:]

  private init() {
    for (id, name) in names.enumerated() { ids[name] = Int32(id) }
  }

  func id(of name: String) -> Int32 {
    lock.withLock {
      if let id = ids[name] { return id }
      let id = Int32(names.count)
      names.append(name)
      ids[name] = id
      return id
    }
  }

  func name(of id: Int32) -> String { lock.withLock { names[Int(id)] } }

  /// By number, which is negative.
  private var choices: [[Int32]] = []

  func choice(of ids: [Int32]) -> Int32 {
    lock.withLock {
      let place = choices.firstIndex(of: ids) ?? choices.count
      if place == choices.count { choices.append(ids) }
      return Int32(-1 - place)
    }
  }

  func choices(_ id: Int32) -> [Int32] { lock.withLock { choices[-1 - Int(id)] } }
}
