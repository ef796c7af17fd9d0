// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// Lull beside its peers, built as anybody's package would be: `Benchmarks/run` measures them all.
let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "lull", path: "..")],
  targets: [
    .executableTarget(
      name: "benchmarks", dependencies: ["CSubjects", .product(name: "Lull", package: "lull")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    // What can only be said in C, and the subjects that are C libraries.
    .target(
      name: "CSubjects", dependencies: ["CUV", "CEvent", "CGLib"],
      cSettings: [.treatAllWarnings(as: .error)],
      linkerSettings: [.linkedLibrary("ev")]),  // it comes without a file for pkg-config
    // The same small program twice: how long it takes to start, and how big it is. In C, which
    // needs no Swift runtime, `run` compiles it.
    .executableTarget(
      name: "hello-lull", dependencies: [.product(name: "Lull", package: "lull")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    .executableTarget(name: "hello-foundation", swiftSettings: [.treatAllWarnings(as: .error)]),

    .systemLibrary(name: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .systemLibrary(
      name: "CEvent", pkgConfig: "libevent_pthreads", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
  ],
  swiftLanguageModes: [.v6]
)
