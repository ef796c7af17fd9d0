// SPDX-License-Identifier: Apache-2.0

/// Cancels idle work when it is let go: held by a view or a document, it ends what was queued for
/// that with its deinit.
///
/// ```swift
/// final class Document {
///   private let work = IdleOwner()
///   func index(_ pages: [Page]) {
///     Loop.main.idle.forEach(pages) { _, page in … }.owned(by: work)
///   }
/// }
/// ```
///
/// > Threads: any.
public final class IdleOwner: Sendable {
  private let works = Works()

  /// An owner of nothing yet.
  public init() {}

  deinit { cancelAll() }

  /// Cancels what it owns; it owns nothing then.
  public func cancelAll() { for work in works.takeAll() { work.cancel() } }

  func add(_ work: IdleWork) { works.add(work) }

  private final class Works: @unchecked Sendable {  // guarded by `lock`
    private let lock = Lock()
    private var works: [IdleWork] = []
    /// When to look for those that have ended.
    private var full = 16

    func add(_ work: IdleWork) {
      lock.withLock {
        if works.count >= full {
          works.removeAll { $0.end != nil }
          full = max(16, 2 * works.count)
        }
        works.append(work)
      }
    }

    func takeAll() -> [IdleWork] {
      lock.withLock {
        defer { works = [] }
        return works
      }
    }
  }
}

extension IdleWork {
  /// Has the work cancelled when `owner` goes; the owner keeps the handle until the work has ended.
  @discardableResult
  public final func owned(by owner: IdleOwner) -> Self {
    owner.add(self)
    return self
  }
}
