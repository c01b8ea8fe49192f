import { relative } from 'node:path'

/**
 * A reporter for Node's test runner: as one line of JSON each test that is no group, with what it said of itself
 * (`t.diagnostic`): `{"tests":[{"file":"e2e/trust-strays.test.ts","name":"…","passed":true,"seconds":12.3,"said":["20 rounds"]}]}`.
 */
export default async function* soakCounts(source) {
  const tests = []
  /** Names of the groups that a test is in, and its own. */
  const path = []
  const last = new Map()
  const placeOf = ({ file, line, column }) => `${file}:${line}:${column}`
  for await (const { type, data } of source) {
    if (type === 'test:start') path.splice(data.nesting, path.length, data.name)
    // What a test said comes after its result.
    else if (type === 'test:diagnostic') last.get(placeOf(data))?.said.push(data.message)
    else if ((type === 'test:pass' || type === 'test:fail') && data.details?.type !== 'suite') {
      const test = {
        file: relative(process.cwd(), data.file ?? ''),
        name: [...path.slice(0, data.nesting), data.name].join(' › '),
        passed: type === 'test:pass',
        seconds: (data.details?.duration_ms ?? 0) / 1000,
        said: [],
      }
      tests.push(test)
      last.set(placeOf(data), test)
    }
  }
  yield `${JSON.stringify({ tests })}\n`
}
