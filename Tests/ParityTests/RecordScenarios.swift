// SPDX-License-Identifier: Apache-2.0
import Testing
import ParityKit
@Suite struct RecordScenarios {
  @Test func record() {
    for s in Scenario.all {
      let c = Comparison(s.program, cf: Scenario.onCFRunLoop[s.testDescription]!)
      print("REC\t\(s.testDescription)\t\(Trace.compact(c.cf))\t\(Trace.compact(c.lull))\t\(c.uses.keys.map(\.name)) \(c.complaint ?? "")")
    }
  }
}
