// SPDX-License-Identifier: Apache-2.0

import Foundation

func runTool(_ arguments: [String]) -> Int32 {
  do {
    let options = try Options(arguments)
    if options.helps {
      print(Options.help, terminator: "")
    } else if options.lists {
      for workload in Workload.all { print(workload.name) }
    } else {
      return try run(options)
    }
    return 0
  } catch let misuse as Misuse {
    complain(misuse.description)
    return 2
  } catch {
    complain("\(error)")
    return 1
  }
}

private func run(_ options: Options) throws -> Int32 {
  let workloads = Workload.all.filter(options.wants)
  var figures = Figures()
  for round in 0..<options.rounds {
    for workload in workloads where round < workload.rounds {
      say("round \(round + 1) of \(options.rounds): \(workload.name)")
      for subject in Subject.all where workload.fits(subject) {
        do {
          figures.add(try measureInChild(workload, subject), of: workload, subject.name)
        } catch {
          figures.failures.append("\(workload.name), \(subject.name): \(error)")
          complain(figures.failures.last!)
        }
      }
    }
  }
  let results = workloads.flatMap { workload in
    workload.rows.indices.map { figures.result(workload, $0) }
  }
  print(options.printsJSON ? try json(results) : table(results), terminator: "")
  return figures.failures.isEmpty ? 0 : 1
}
