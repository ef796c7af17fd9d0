// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Foundation
import ParityKit

/// CFRunLoop as it is: a real thread's, in real time.
///
/// @unchecked Sendable because a CFRunLoop may be called from any thread.
struct CFLiveLoop: LiveLoop, @unchecked Sendable {
  let loop: CFRunLoop

  static var current: CFLiveLoop { CFLiveLoop(loop: CFRunLoopGetCurrent()) }

  func run(_ mode: Mode, seconds: Double, once: Bool) -> Outcome {
    switch Int(CFRunLoopRunInMode(name(mode), seconds, once).rawValue) {
    case 1: .finished
    case 2: .stopped
    case 3: .timedOut
    default: .handledSource
    }
  }

  func stop() { CFRunLoopStop(loop) }

  func perform(in mode: Mode, _ body: @escaping @Sendable () -> Void) {
    CFRunLoopPerformBlock(loop, name(mode), body)
  }

  func addTimer(after seconds: Double, to mode: Mode, _ body: @escaping @Sendable () -> Void) {
    let date = CFAbsoluteTimeGetCurrent() + seconds
    let timer = CFRunLoopTimerCreateWithHandler(nil, date, 0, 0, 0) { _ in body() }
    CFRunLoopAddTimer(loop, timer, name(mode))
  }

  func addSource(to mode: Mode, _ body: @escaping @Sendable () -> Void) -> any LiveSource {
    let source = CFLiveSource(loop, body)
    CFRunLoopAddSource(loop, source.source, name(mode))
    return source
  }

  private func name(_ mode: Mode) -> CFString {
    mode == .initial ? kCFRunLoopDefaultMode : customMode
  }
}

/// @unchecked Sendable because a CFRunLoopSource may be called from any thread.
private final class CFLiveSource: LiveSource, @unchecked Sendable {
  private(set) var source: CFRunLoopSource!
  private let loop: CFRunLoop
  private let body: @Sendable () -> Void

  init(_ loop: CFRunLoop, _ body: @escaping @Sendable () -> Void) {
    self.loop = loop
    self.body = body
    var context = CFRunLoopSourceContext()
    // It lives as long as the process, which is short.
    context.info = Unmanaged.passRetained(self).toOpaque()
    context.perform = { Unmanaged<CFLiveSource>.fromOpaque($0!).takeUnretainedValue().body() }
    source = CFRunLoopSourceCreate(nil, 0, &context)
  }

  func signal() {
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  func invalidate() { CFRunLoopSourceInvalidate(source) }
}

private nonisolated(unsafe) let customMode: CFString = CFStringCreateWithCString(
  nil, "custom", 0x0800_0100)
