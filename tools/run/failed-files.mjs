/**
 * A reporter for Node's test runner that says at the end, as one line of JSON, which files failed and how many tests
 * passed: `{"passed":12,"failed":["e2e/kill.test.ts"]}`.
 */
export default async function* failedFiles(source) {
  const failed = new Set()
  let passed = 0
  let isWhole = false
  for await (const { type, data } of source) {
    // A todo that fails is no failure. A file that crashed fails as a test of its own name.
    if (type === 'test:fail' && !data.todo) failed.add(data.file ?? data.name)
    if (type !== 'test:summary') continue
    if (data.file === undefined) {
      passed = data.counts.passed
      isWhole = true
    } else if (!data.success) failed.add(data.file)
  }
  yield `${JSON.stringify({ passed, failed: isWhole ? [...failed] : null })}\n`
}
