// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

extension Loop {
  /// What a descriptor is ready for, or is watched for.
  public struct Readiness: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// One bit a condition.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A read would not block: there is data, the end of it, a connection to accept, or an error.
    public static let readable = Readiness(rawValue: 1)

    /// A write would not block.
    public static let writable = Readiness(rawValue: 2)

    /// The other side is gone. Reported whatever one watches for; what it had sent can still be
    /// read.
    public static let hangUp = Readiness(rawValue: 4)

    /// The descriptor has an error. Reported whatever one watches for.
    public static let error = Readiness(rawValue: 8)

    static let alwaysReported: Readiness = [.hangUp, .error]

    /// The conditions' names, for logs.
    public var description: String {
      let names: [(Readiness, String)] = [
        (.readable, "readable"), (.writable, "writable"), (.hangUp, "hangUp"), (.error, "error"),
      ]
      return "[" + names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") + "]"
    }
  }

  /// Why a descriptor cannot be watched.
  public enum DescriptorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Regular files and directories are always ready, so the kernel has nothing to wait for: read
    /// them in pieces from ``Loop/idle`` or on another thread.
    case notPollable(CInt)

    /// The descriptor is not open.
    case notOpen(CInt)

    /// The kernel or the process has no room for one more.
    case exhausted(SystemError)

    /// Anything else the kernel said.
    case failed(SystemError)

    /// What is wrong and what helps.
    public var description: String {
      switch self {
      case .notPollable(let descriptor):
        "descriptor \(descriptor) is a regular file or a directory, which is always ready: read it "
          + "in idle pieces or on another thread"
      case .notOpen(let descriptor): "descriptor \(descriptor) is not open"
      case .exhausted(let error): "no room to watch one more descriptor (\(error))"
      case .failed(let error): "the descriptor cannot be watched (\(error))"
      }
    }
  }

  /// Calls its handler while a descriptor is ready.
  ///
  /// Level-triggered: the handler is called in each pass until what was there has been read or
  /// written, or the ``interest`` in it withdrawn; the loop itself reads nothing. Several sources
  /// may watch one descriptor. Data that comes while no mode of the source runs waits in the
  /// kernel.
  ///
  /// Readiness can be gone when the handler runs, if an earlier callout took it: make descriptors
  /// non-blocking. Remove the source before closing its descriptor.
  ///
  /// > Threads: any. The handler runs on the loop's thread.
  public class DescriptorSource: Item, @unchecked Sendable {
    /// What it calls, with what the descriptor is ready for.
    public typealias Handler = @Sendable (DescriptorSource, Readiness) -> Void

    /// The descriptor, which stays the caller's to close. Signal and process sources close their
    /// own.
    public final let descriptor: CInt

    private let interestBits: Atomic<UInt8>
    /// The next source of the same descriptor in the same loop. On its thread.
    final var next = Unretained<DescriptorSource>(nil)
    private(set) final var handler: Handler?

    /// A source that watches `descriptor` for `interest`.
    public init(_ descriptor: CInt, for interest: Readiness, _ handler: @escaping Handler) {
      self.descriptor = descriptor
      interestBits = Atomic(interest.rawValue)
      self.handler = handler
    }

    /// What it watches for; hang-up and errors come with anything. Empty, it is not called at all.
    ///
    /// Any thread; from the loop's own it holds from the next callout on.
    public final var interest: Readiness {
      get { Readiness(rawValue: interestBits.load(ordering: .relaxed)) }
      set {
        interestBits.store(newValue.rawValue, ordering: .relaxed)
        owner?.submit(.interest(self))
      }
    }

    override var kind: ItemKind { .descriptor(self) }
    override func release() { handler = nil }

    override func joined(
      _ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop
    ) throws(SystemError) {
      loop.state.value.modes[mode].items += 1
      loop.state.value.modes[mode].descriptorSources += 1
      try loop.attach(self)
    }

    override func left(_ mode: ModeTable.Index, from former: ModeTable.SetID, of loop: Loop) {
      loop.state.value.modes[mode].items -= 1
      loop.state.value.modes[mode].descriptorSources -= 1
      loop.detach(self)
    }

    /// The part of `ready` this source wants to hear of.
    final func wanted(of ready: Readiness) -> Readiness {
      let interest = interest
      return interest.isEmpty ? [] : ready.intersection(interest.union(.alwaysReported))
    }
  }
}
