/**
 * A reporter for Node's test runner that says at the end, as one line of JSON, which files failed and by which tests, how many tests
 * passed, and how long each file took: `{"passed":12,"failed":{"e2e/kill.test.ts":["a kill …"]},"seconds":{"e2e/kill.test.ts":81.2}}`.
 */
export default async function* failedFiles(source) {
  const failed = new Map()
  const add = (file, ...titles) => failed.set(file, [...(failed.get(file) ?? []), ...titles])
  const seconds = {}
  let passed = 0
  let isWhole = false
  for await (const { type, data } of source) {
    // A todo that fails is no failure. A file that crashed fails as a test of its own name. A test may be written in a module that
    // several test files share (the conformance suite): the file to run again is the one that was started.
    if (type === 'test:fail' && !data.todo) add(data.entryFile ?? data.file ?? data.name, data.name)
    if (type !== 'test:summary') continue
    if (data.file === undefined) {
      passed = data.counts.passed
      isWhole = true
      continue
    }
    seconds[data.file] = data.duration_ms / 1000
    if (!data.success) add(data.file)
  }
  yield `${JSON.stringify({ passed, failed: isWhole ? Object.fromEntries(failed) : null, seconds })}\n`
}
