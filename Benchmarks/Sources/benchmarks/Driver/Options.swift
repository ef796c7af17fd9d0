// SPDX-License-Identifier: Apache-2.0

/// What was asked for on the command line.
struct Options {
  var printsJSON = false
  var lists = false
  var helps = false
  var rounds = 5
  /// Workloads to measure; none for all.
  var only: [String] = []

  static let help = """
    usage: run [--json] [--only WORKLOAD]... [--rounds N]
           run --list
           run --help

    Measures Lull beside its peers, each measurement in a process of its own, the subjects in turn
    within each round, and prints medians.

      --json           one object instead of the table
      --only WORKLOAD  that workload and no other; may be repeated
      --rounds N       how often each is measured, 5 unless said
      --list           the names of the workloads

    """

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      switch option {
      case "--json": printsJSON = true
      case "--list": lists = true
      case "--help", "-h": helps = true
      case "--rounds":
        guard let text = rest.popFirst(), let number = Int(text), number > 0 else {
          throw Misuse("--rounds needs a number above zero")
        }
        rounds = number
      case "--only":
        guard let name = rest.popFirst() else { throw Misuse("--only needs a workload") }
        guard Workload.all.contains(where: { $0.name == name }) else {
          throw Misuse("there is no workload \"\(name)\"; --list names them")
        }
        only.append(name)
      default: throw Misuse("unknown option \"\(option)\"; --help lists them")
      }
    }
  }

  func wants(_ workload: Workload) -> Bool { only.isEmpty || only.contains(workload.name) }
}

struct Misuse: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
