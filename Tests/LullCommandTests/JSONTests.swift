// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LullCommand

@Suite struct JSONTests {
  @Test func `Members keep their order and are indented`() {
    let value = JSON.object([
      ("b", .int(-3)), ("a", .array([.null, .bool(true)])), ("empty", .object([])),
    ])
    #expect(
      value.text == """
        {
          "b": -3,
          "a": [
            null,
            true
          ],
          "empty": {}
        }
        """)
  }

  @Test func `Text is quoted as the standard wants it`() {
    #expect(JSON.string("a\"b\\c\n\t\r\u{01}ü€").text == #""a\"b\\c\n\t\r\u0001ü€""#)
  }

  @Test(arguments: [
    (0, "0"), (-0.0, "0"), (1, "1"), (0.0004, "0"), (0.0005, "0.001"), (-1.25, "-1.25"),
    (1234.5678, "1234.568"), (0.1 + 0.2, "0.3"), (-0.0004, "0"),
  ])
  func `Numbers are rounded to thousandths`(value: Double, text: String) {
    #expect(JSON.number(value).text == text)
  }

  @Test func `What is not finite is null`() {
    #expect(JSON.number(.nan).text == "null")
    #expect(JSON.number(.infinity).text == "null")
    #expect(JSON(nil as Double?).text == "null")
  }

  @Test func `Decimals are fixed where columns must line up`() {
    #expect(decimal(2, places: 1) == "2.0")
    #expect(decimal(-0.05, places: 1) == "-0.1")
    #expect(decimal(0.04, places: 1) == "0.0")
    #expect(decimal(1999.5, places: 0) == "2000")
    #expect(decimal(1e300, places: 2) == "1e+300")
  }

  @Test func `Large counts are grouped by thousands`() {
    #expect(grouped(7) == "7")
    #expect(grouped(1_234_567) == "1,234,567")
    #expect(grouped(-1000) == "-1,000")
  }
}
