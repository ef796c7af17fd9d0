// SPDX-License-Identifier: Apache-2.0

/// What a loop has asked the kernel to watch, to be asked again of another set.
struct WatchList: ~Copyable {
  private var interests = DescriptorMap<Loop.Readiness>(none: [])
  private var tokens = DescriptorMap<UInt64>(none: 0)

  /// One more than the last descriptor there is room for.
  var end: CInt { interests.end }

  /// What a descriptor is watched for; nothing if it is not.
  func interest(in descriptor: CInt) -> Loop.Readiness { interests[descriptor] }

  func token(of descriptor: CInt) -> UInt64 { tokens[descriptor] }

  /// For a descriptor that the kernel has found open.
  mutating func insert(_ descriptor: CInt, for interest: Loop.Readiness, token: UInt64) {
    interests[descriptor] = interest
    tokens[descriptor] = token
  }

  mutating func remove(_ descriptor: CInt) {
    if interests.hasRoom(for: descriptor) { interests[descriptor] = [] }
  }
}
