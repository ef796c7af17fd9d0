@main struct Oracle { static func main() {} }
