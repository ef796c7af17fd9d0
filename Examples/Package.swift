// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// Programs to read and to run, built as anybody's package would be: `Examples/run` runs them all.
let names = ["hello", "shielded-mode", "echo-server", "event-tracking", "idle-work", "guest"]

let package = Package(
  name: "examples",
  dependencies: [.package(name: "lull", path: "..")],
  targets: names.map { name in
    .executableTarget(
      name: name, dependencies: [.product(name: "Lull", package: "lull")],
      swiftSettings: [.treatAllWarnings(as: .error)])
  },
  swiftLanguageModes: [.v6]
)
