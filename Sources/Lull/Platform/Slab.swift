// SPDX-License-Identifier: Apache-2.0

internal import CLull

/// A growable array with one owner, whose elements are reached in place: no copies, and neither
/// uniqueness nor exclusivity checks.
///
/// It keeps the storage it has had. The rule of ``Box`` holds here too: no access to an element may
/// be held across a call into user code.
@safe
struct Slab<Element: ~Copyable>: ~Copyable {
  private var start: UnsafeMutablePointer<Element>
  private(set) var count = 0
  private(set) var capacity = 0

  init() { unsafe start = .nowhere }

  deinit {
    guard capacity > 0 else { return }
    if count > 0 { unsafe start.deinitialize(count: count) }
    unsafe start.deallocate()
  }

  @inline(__always)
  var isEmpty: Bool { count == 0 }

  subscript(index: Int) -> Element {
    @inline(__always) unsafeAddress {
      precondition(isWithin(index, count))
      return unsafe UnsafePointer(start + index)
    }
    @inline(__always) unsafeMutableAddress {
      precondition(isWithin(index, count))
      return unsafe start + index
    }
  }

  /// Has the processor fetch an element. Any index will do.
  @inline(__always)
  func prefetch(_ index: Int) { unsafe lull_prefetch(start + index) }

  @inline(__always)
  mutating func append(_ element: consuming Element) {
    if count == capacity { grow() }
    unsafe (start + count).initialize(to: element)
    count += 1
  }

  @inline(__always)
  mutating func removeLast() -> Element {
    precondition(count > 0)
    count -= 1
    return unsafe (start + count).move()
  }

  /// Lets go of all but the first `rest`.
  mutating func truncate(to rest: Int) {
    precondition(rest >= 0 && rest <= count)
    unsafe (start + rest).deinitialize(count: count - rest)
    count = rest
  }

  @inline(never)
  private mutating func grow() { move(to: max(4, 2 * capacity)) }

  fileprivate mutating func move(to room: Int) {
    let fresh = UnsafeMutablePointer<Element>.allocate(capacity: room)
    unsafe fresh.moveInitialize(from: start, count: count)
    if capacity > 0 { unsafe start.deallocate() }
    unsafe start = fresh
    capacity = room
  }
}

extension Slab {
  /// Keeps what `isWanted`, in order.
  @inline(__always)
  mutating func filter(_ isWanted: (Element) -> Bool) {
    var kept = 0
    for index in 0..<count {
      let element = self[index]
      guard isWanted(element) else { continue }
      self[kept] = element
      kept += 1
    }
    truncate(to: kept)
  }

  /// Appends copies of an element until there are so many, in no more room than those take.
  mutating func extend(to end: Int, with element: Element) {
    if end > capacity { move(to: end) }
    while count < end { append(element) }
  }
}

/// A queue with one owner: first in, first out. Elements are moved in and moved out, and the
/// storage is kept.
@safe
struct Ring<Element: ~Copyable>: ~Copyable {
  private var start: UnsafeMutablePointer<Element>
  private var head = 0
  private var end = 0
  private var capacity = 0

  init() { unsafe start = .nowhere }

  deinit {
    guard capacity > 0 else { return }
    if count > 0 { unsafe (start + head).deinitialize(count: count) }
    unsafe start.deallocate()
  }

  @inline(__always)
  var isEmpty: Bool { head == end }

  @inline(__always)
  var count: Int { end - head }

  @inline(__always)
  mutating func append(_ element: consuming Element) {
    if end == capacity { makeRoom() }
    unsafe (start + end).initialize(to: element)
    end += 1
  }

  /// Has the processor fetch what the elements after the next few will be written to, which lies
  /// in another's cache if that took out what was there.
  @inline(__always)
  func prefetch() { unsafe lull_prefetch_for_writing(start + end + 5) }

  @inline(__always)
  mutating func removeFirst() -> Element {
    precondition(head < end)
    let element = unsafe (start + head).move()
    head += 1
    if head == end { (head, end) = (0, 0) }
    return element
  }

  /// From the oldest, at 0.
  subscript(index: Int) -> Element {
    @inline(__always) unsafeAddress {
      precondition(isWithin(index, count))
      return unsafe UnsafePointer(start + head + index)
    }
  }

  /// Everything goes to the end of another queue.
  mutating func moveAll(to other: inout Self) {
    while !isEmpty { other.append(removeFirst()) }
  }

  @inline(never)
  private mutating func makeRoom() {
    // Half empty at the front, it is long enough.
    let room = head > capacity / 2 ? capacity : max(4, 2 * capacity)
    if room == capacity {
      unsafe start.moveInitialize(from: start + head, count: count)
    } else {
      let fresh = UnsafeMutablePointer<Element>.allocate(capacity: room)
      unsafe fresh.moveInitialize(from: start + head, count: count)
      if capacity > 0 { unsafe start.deallocate() }
      unsafe start = fresh
    }
    (head, end, capacity) = (0, count, room)
  }
}

/// Both bounds in one comparison.
@inline(__always)
private func isWithin(_ index: Int, _ count: Int) -> Bool {
  UInt(bitPattern: index) < UInt(bitPattern: count)
}

extension UnsafeMutablePointer where Pointee: ~Copyable {
  /// Of no storage at all.
  fileprivate static var nowhere: Self { unsafe Self(bitPattern: MemoryLayout<Pointee>.alignment)! }
}
