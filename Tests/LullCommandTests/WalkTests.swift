// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LullCommand

@Suite struct WalkTests {
  private func message(_ path: String) -> String? {
    do throws(Failure) {
      _ = try Walk(path)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `Files are found in order and all else is said`() throws {
    let folder = try TemporaryFolder()
    try folder.write("bb", to: "b.txt")
    try folder.write("a", to: "a.txt")
    try folder.write("", to: "empty")
    try folder.makeFolder("sub")
    try folder.write("deep", to: "sub/deep.txt")
    try folder.makeFIFO("pipe")
    try folder.makeLink("link", to: "a.txt")
    try folder.makeAlias("alias", of: "b.txt")
    let walk = try Walk(folder.path)
    let names = walk.files.map { String($0.path.dropFirst(folder.path.count + 1)) }
    #expect(names == ["a.txt", "alias", "sub/deep.txt"])
    #expect(walk.files.map(\.size) == [1, 2, 4])
    #expect(
      walk.leftOut.summary
        == "1 FIFO (\(folder.path)/pipe), 1 empty file, 1 symbolic link")
  }

  @Test func `A file is a walk of one`() throws {
    let folder = try TemporaryFolder()
    try folder.write("hello", to: "a.txt")
    let path = "\(folder.path)/a.txt"
    #expect(try Walk(path).files == [Candidate(path: path, size: 5)])
    // A link that is named is followed; only those that are met are not.
    try folder.makeLink("link", to: "a.txt")
    #expect(try Walk("\(folder.path)/link").files.count == 1)
  }

  @Test func `A slash at the end changes nothing`() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", to: "a.txt")
    #expect(try Walk(folder.path + "/").files == Walk(folder.path).files)
  }

  @Test func `An empty folder has no files`() throws {
    let folder = try TemporaryFolder()
    let walk = try Walk(folder.path)
    #expect(walk.files.isEmpty && walk.leftOut == LeftOut())
  }

  @Test func `A folder full of names is not looked through to the end`() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", to: "a.txt")
    try folder.write("b", to: "b.txt")
    try folder.makeFolder("sub")
    try folder.write("deep", to: "sub/deep.txt")
    let walk = try Walk(folder.path, limit: 2)
    #expect(walk.files.count == 2)
    #expect(walk.leftOut.summary == "1 folder after too many files")
  }

  @Test func `What is neither a file nor a folder is refused by name`() throws {
    let folder = try TemporaryFolder()
    try folder.makeFIFO("pipe")
    let pipe = "\(folder.path)/pipe"
    #expect(message(pipe) == "\(pipe) is a FIFO; name a folder or a file")
    #expect(message("/dev/null") == "/dev/null is a device; name a folder or a file")
    #expect(message("/no/such") == "/no/such: No such file or directory")
  }
}
