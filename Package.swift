// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// How all our Swift is compiled.
///
/// `_GNU_SOURCE` stands here and never in a header: defined in a header it changes system types
/// that the Glibc module has already imported.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]
let gnu: [CSetting] = [.define("_GNU_SOURCE")]

let package = Package(
  name: "lull",
  products: [
    .library(name: "Lull", targets: ["Lull"]),
    .library(name: "LullTesting", targets: ["LullTesting"]),
    .executable(name: "lull", targets: ["LullCommand"]),
  ],
  traits: [
    .default(enabledTraits: [])
  ],
  targets: [
    .target(name: "CLull"),
    .target(name: "Lull", dependencies: ["CLull"], cSettings: gnu, swiftSettings: strict),
    .target(name: "LullTesting", dependencies: ["Lull"], cSettings: gnu, swiftSettings: strict),
    .executableTarget(
      name: "LullCommand", dependencies: ["Lull", "CLull"], cSettings: gnu, swiftSettings: strict),

    .testTarget(
      name: "LullTests",
      dependencies: ["Lull", "LullTesting", "CTestSupport", "CAllocations"], cSettings: gnu,
      swiftSettings: strict),
    .testTarget(
      name: "LullCommandTests", dependencies: ["LullCommand", "Lull"], cSettings: gnu,
      swiftSettings: strict),
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(name: "CAllocations", path: "Tests/CAllocations"),
    .testTarget(
      name: "MainLoopTests", dependencies: ["Lull"], cSettings: gnu, swiftSettings: strict),
    // A program of its own, to count its system calls.
    .executableTarget(
      name: "WakeProbe", dependencies: ["Lull"], path: "Tests/WakeProbe", cSettings: gnu,
      swiftSettings: strict),
    // And one to count what each operation allocates and asks of the system.
    .executableTarget(
      name: "CountProbe", dependencies: ["Lull", "CAllocations"], path: "Tests/CountProbe",
      exclude: ["counts.txt"], cSettings: gnu, swiftSettings: strict),

    // The real CFRunLoop as an oracle: programs, a model of what they do, and a child process that
    // runs them on Foundation's run loop in virtual time. Nothing that ships links these.
    .target(name: "ParityKit", path: "Tests/ParityKit", swiftSettings: strict),
    .target(name: "CVirtualTime", path: "Tests/CVirtualTime"),
    .executableTarget(
      name: "ParityOracle", dependencies: ["ParityKit", "CVirtualTime"],
      path: "Tests/ParityOracle", cSettings: gnu,
      swiftSettings: [.treatAllWarnings(as: .error)]),
    // Lull where the oracle's main thread has CFRunLoop.
    .executableTarget(
      name: "ParityProbe", dependencies: ["Lull", "ParityKit"], path: "Tests/ParityProbe",
      cSettings: gnu, swiftSettings: strict),
    .testTarget(
      name: "ParityTests", dependencies: ["Lull", "LullTesting", "ParityKit"],
      path: "Tests/ParityTests", cSettings: gnu, swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
