// SPDX-License-Identifier: Apache-2.0

import CAllocations
import Glibc
import Synchronization

// Does an operation a thousand times, for `Tools/check-counts` to count what that costs.
//
//   CountProbe             the names of all operations
//   CountProbe OPERATION   how many allocations it took, on the loop's thread and another
//
// Writes to standard output stand before and after what counts. Before them it does the same often
// enough for buffers to have grown: what counts is the long run.

let name = CommandLine.arguments.dropFirst().first
guard let operation = operations.first(where: { $0.key == name })?.value else {
  for name in operations.map(\.key) { print(name) }
  exit(name == nil ? 0 : 2)
}
_ = loop  // Made on this thread, before another asks for it.
let batch = try operation()

func carryOut() {
  done.store(0, ordering: .sequentiallyConsistent)
  batch()
  let count = done.load(ordering: .sequentiallyConsistent)
  if count != times { fatalError("\(count) operations were carried out instead of \(times)") }
}

test_count_allocations(true)
for _ in 0..<8 { carryOut() }
_ = unsafe write(1, "begin\n", 6)
let before = test_allocations()
carryOut()
let allocations = test_allocations() - before
_ = unsafe write(1, "end\n", 4)
print(allocations, "allocations")
