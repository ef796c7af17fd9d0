// SPDX-License-Identifier: Apache-2.0

import CVirtualTime
import CoreFoundation
import Foundation
import ParityKit

/// Foundation's CFRunLoop of the calling thread: in virtual time on one that `vt_run` started, in
/// real time on others.
final class CFLoop: RunLoopUnderTest {
  private let callbacks: any Callbacks
  private let isReal: Bool
  private let startDate: CFAbsoluteTime
  private let loop = CFRunLoopGetCurrent()
  private let modes: [CFString]
  private var handles: [Handle] = []
  private var sources: [CFRunLoopSource] = []
  private var timers: [CFRunLoopTimer] = []
  private var observers: [CFRunLoopObserver] = []
  private var commonItems: [Item] = []
  private var commonModes: Set<Mode> = [.initial]

  init(_ program: Program, _ callbacks: any Callbacks, isReal: Bool = false) {
    self.callbacks = callbacks
    self.isReal = isReal
    startDate = isReal ? CFAbsoluteTimeGetCurrent() : Double(VT_START - 978_307_200)
    modes = [kCFRunLoopDefaultMode] + customModes.prefix(program.modeCount - 1)
    for (index, order) in program.sources.enumerated() { makeSource(index, order) }
    for (index, timer) in program.timers.enumerated() { makeTimer(index, timer) }
    for (index, observer) in program.observers.enumerated() { makeObserver(index, observer) }
  }

  /// Lets go of all items, so that nothing of the program outlives its thread.
  func invalidateAll() {
    sources.forEach(CFRunLoopSourceInvalidate)
    timers.forEach(CFRunLoopTimerInvalidate)
    observers.forEach(CFRunLoopObserverInvalidate)
  }

  // MARK: Items

  private func makeSource(_ index: Int, _ order: Int) {
    var context = CFRunLoopSourceContext()
    context.info = handle(index)
    context.perform = { Handle.of($0).tell { $0.callbacks.performed(source: $1) } }
    context.schedule = { info, _, mode in
      Handle.of(info).tell { $0.callbacks.scheduled(source: $1, in: $0.mode(named: mode!)) }
    }
    context.cancel = { info, _, mode in
      Handle.of(info).tell { $0.callbacks.cancelled(source: $1, in: $0.mode(named: mode!)) }
    }
    sources.append(CFRunLoopSourceCreate(nil, order, &context))
  }

  private func makeTimer(_ index: Int, _ timer: Program.TimerSpec) {
    var context = CFRunLoopTimerContext()
    context.info = handle(index)
    let interval = Double(timer.interval) / ticksPerSecond
    timers.append(
      CFRunLoopTimerCreate(
        nil, date(timer.first), interval, 0, 0,
        { _, info in Handle.of(info).tell { $0.callbacks.fired(timer: $1) } }, &context))
  }

  private func makeObserver(_ index: Int, _ observer: Program.ObserverSpec) {
    var context = CFRunLoopObserverContext()
    context.info = handle(index)
    observers.append(
      CFRunLoopObserverCreate(
        nil, CFOptionFlags(observer.activities), observer.repeats, observer.order,
        { _, activity, info in
          let activity = Activity(rawValue: Int(activity.rawValue))!
          Handle.of(info).tell { $0.callbacks.observed(observer: $1, activity) }
        }, &context))
  }

  /// What an item's callbacks find their way home by.
  private final class Handle {
    private unowned let loop: CFLoop
    private let index: Int

    init(_ loop: CFLoop, _ index: Int) {
      (self.loop, self.index) = (loop, index)
    }

    static func of(_ info: UnsafeMutableRawPointer?) -> Handle {
      Unmanaged<Handle>.fromOpaque(info!).takeUnretainedValue()
    }

    func tell(_ call: (CFLoop, Int) -> Void) { call(loop, index) }
  }

  private func handle(_ index: Int) -> UnsafeMutableRawPointer {
    let handle = Handle(self, index)
    handles.append(handle)
    return Unmanaged.passUnretained(handle).toOpaque()
  }

  // MARK: Names and dates

  private func name(_ mode: Mode) -> CFString {
    mode == .common ? kCFRunLoopCommonModes : modes[mode.index]
  }

  private func mode(named name: CFString) -> Mode {
    modes.firstIndex { CFEqual($0, name) }.map { Mode($0) } ?? .common
  }

  private func date(_ tick: Int) -> CFAbsoluteTime { startDate + Double(tick) / ticksPerSecond }

  private func tick(_ date: CFAbsoluteTime) -> Int? {
    guard date != 0 else { return nil }
    let ticks = (date - startDate) * ticksPerSecond
    precondition(ticks == ticks.rounded(), "a date that no program asked for: \(date)")
    return Int(ticks)
  }

  // MARK: Operations

  var tick: Int {
    if isReal { return Int((CFAbsoluteTimeGetCurrent() - startDate) * ticksPerSecond) }
    return Int(vt_now()) / Program.tickNanoseconds
  }

  func work(ticks: Int) {
    guard isReal else { return vt_advance(Int64(ticks * Program.tickNanoseconds)) }
    let end = CFAbsoluteTimeGetCurrent() + Double(ticks) / ticksPerSecond
    while CFAbsoluteTimeGetCurrent() < end {}
  }

  func add(_ item: Item, to mode: Mode) {
    if mode == .common && isValid(item) && !commonItems.contains(item) { commonItems.append(item) }
    switch item {
    case .source(let index): CFRunLoopAddSource(loop, sources[index], name(mode))
    case .timer(let index): CFRunLoopAddTimer(loop, timers[index], name(mode))
    case .observer(let index): CFRunLoopAddObserver(loop, observers[index], name(mode))
    }
  }

  func remove(_ item: Item, from mode: Mode) {
    if mode == .common { commonItems.removeAll { $0 == item } }
    switch item {
    case .source(let index): CFRunLoopRemoveSource(loop, sources[index], name(mode))
    case .timer(let index): CFRunLoopRemoveTimer(loop, timers[index], name(mode))
    case .observer(let index): CFRunLoopRemoveObserver(loop, observers[index], name(mode))
    }
  }

  func invalidate(_ item: Item) {
    switch item {
    case .source(let index): CFRunLoopSourceInvalidate(sources[index])
    case .timer(let index): CFRunLoopTimerInvalidate(timers[index])
    case .observer(let index): CFRunLoopObserverInvalidate(observers[index])
    }
  }

  /// CF orders signalled sources by the clock, which stands still here.
  func signal(source: Int) {
    vt_stamp_begin()
    CFRunLoopSourceSignal(sources[source])
    vt_stamp_end()
  }

  func wakeUp() { CFRunLoopWakeUp(loop) }

  func stop() { CFRunLoopStop(loop) }

  func setNextFire(timer: Int, tick: Int) {
    CFRunLoopTimerSetNextFireDate(timers[timer], date(tick))
  }

  func perform(in modes: [Mode], _ body: @escaping @Sendable () -> Void) {
    if modes.count == 1 {
      CFRunLoopPerformBlock(loop, name(modes[0]), body)
    } else {
      let names = CFArrayCreateMutable(nil, 0, nil)
      for mode in modes {
        CFArrayAppendValue(names, Unmanaged.passUnretained(name(mode)).toOpaque())
      }
      CFRunLoopPerformBlock(loop, names, body)
    }
  }

  func run(in mode: Mode, polls: Bool, returnsAfterSource: Bool) -> Outcome {
    let result = CFRunLoopRunInMode(name(mode), polls ? 0 : 1e10, returnsAfterSource)
    switch Int(result.rawValue) {
    case 1: return .finished
    case 2: return .stopped
    case 3: return .timedOut
    case 4: return .handledSource
    default: preconditionFailure("an outcome that CFRunLoop does not have: \(result.rawValue)")
    }
  }

  /// CF pulls the common items in by their hash, which is their address. So they are added one by
  /// one before; nobody is told of the order in between.
  func addCommonMode(_ mode: Mode) {
    if commonModes.insert(mode).inserted {
      for item in commonItems { add(item, to: mode) }
    }
    CFRunLoopAddCommonMode(loop, name(mode))
  }

  func contains(_ item: Item, in mode: Mode) -> Bool {
    switch item {
    case .source(let index): CFRunLoopContainsSource(loop, sources[index], name(mode))
    case .timer(let index): CFRunLoopContainsTimer(loop, timers[index], name(mode))
    case .observer(let index): CFRunLoopContainsObserver(loop, observers[index], name(mode))
    }
  }

  func isValid(_ item: Item) -> Bool {
    switch item {
    case .source(let index): CFRunLoopSourceIsValid(sources[index])
    case .timer(let index): CFRunLoopTimerIsValid(timers[index])
    case .observer(let index): CFRunLoopObserverIsValid(observers[index])
    }
  }

  func nextFire(ofTimer timer: Int) -> Int? { tick(CFRunLoopTimerGetNextFireDate(timers[timer])) }

  func nextFire(in mode: Mode) -> Int? { tick(CFRunLoopGetNextTimerFireDate(loop, name(mode))) }

  var currentMode: Mode? { CFRunLoopCopyCurrentMode(loop).map(mode(named:)) }

  var allModes: [Mode] {
    let names = CFRunLoopCopyAllModes(loop)
    return (0..<CFArrayGetCount(names)).map { index in
      let name = Unmanaged<CFString>.fromOpaque(CFArrayGetValueAtIndex(names, index)!)
      return mode(named: name.takeUnretainedValue())
    }
  }
}

private let ticksPerSecond = 64.0

private nonisolated(unsafe) let customModes: [CFString] = (1...8).map { number in
  CFStringCreateWithCString(nil, "mode \(number)", 0x0800_0100)
}
