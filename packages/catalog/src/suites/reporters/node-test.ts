/** A reporter for Node's own test runner. Its JUnit output leaves lines out and takes tests with subtests for suites. */
export const nodeTestReporter = `// Writes the result of each test as a line of JSON.
const titles = new Map()
const printed = new Map()

export default async function* report(events) {
  yield line({ results: 'stackquay' })
  for await (const { type, data } of events) {
    if (type === 'test:start') titlesOf(data.file)[data.nesting] = data.name
    if (type === 'test:stderr') printed.set(data.file, ((printed.get(data.file) ?? '') + data.message).slice(-16384))
    if ((type === 'test:pass' || type === 'test:fail') && data.details?.type !== 'suite') yield line(resultOf(data))
    // A suite itself fails with its hooks, not only with what is in it.
    if (type === 'test:fail' && data.details?.type === 'suite' && ownFailure(data)) yield line(resultOf(data))
  }
  yield line({ end: true })
}

function line(value) {
  return JSON.stringify(value) + '\\n'
}

function titlesOf(file) {
  if (!titles.has(file)) titles.set(file, [])
  return titles.get(file)
}

function ownFailure(data) {
  const kind = data.details.error?.failureType
  return kind !== undefined && kind !== 'subtestsFailed' && kind !== 'cancelledByParent'
}

function resultOf(data) {
  const { name, nesting, file, details, skip, todo } = data
  const passed = details.error === undefined
  const group = titlesOf(file).slice(0, nesting).join(' > ')
  const about = skip ?? todo
  const asked = (skip !== undefined && skip !== false) || (todo !== undefined && todo !== false)
  const result = {
    name,
    group: group === '' ? null : group,
    file: file ?? null,
    line: data.line ?? null,
    outcome: asked ? 'skipped' : passed ? 'passed' : 'failed',
    seconds: (details.duration_ms ?? 0) / 1000,
    message: asked && typeof about === 'string' ? about : null,
  }
  return result.outcome === 'failed' ? { ...result, ...failureOf(details.error, result) } : result
}

function failureOf(error, { name, file, line }) {
  const cause = error.cause ?? error
  const isError = typeof cause === 'object' && cause !== null
  const message = String((isError ? cause.message : cause) ?? error.message)
  const stack = String((isError && cause.stack) || message)
  // A file that ended by itself says why on its standard error alone, which comes under the file's name.
  const atEnd = error.exitCode !== undefined || error.signal !== undefined ? (printed.get(file) ?? printed.get(name)) : undefined
  if (atEnd === undefined) return { line: lineIn(stack, file) ?? line, message, details: stack.slice(0, 16384) }
  const said = atEnd.split('\\n').find((one) => /^(\\w*Error|Uncaught|.*\\[ERR_)/.test(one))
  return { line: lineIn(atEnd, file) ?? line, message: said ?? message, details: atEnd }
}

function lineIn(stack, file) {
  if (!file) return undefined
  for (const name of [file, encodeURI(file)]) {
    const at = stack.indexOf(name + ':')
    const number = at === -1 ? Number.NaN : Number.parseInt(stack.slice(at + name.length + 1), 10)
    if (number > 0) return number
  }
  return undefined
}
`
