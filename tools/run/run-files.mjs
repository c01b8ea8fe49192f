// `node run-files.mjs <plan>`: runs test files of a plan in its order, which `node --test` would sort. Runs on the Node of this workspace.
import { createWriteStream, readFileSync } from 'node:fs'
import { compose } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import failedFiles from './failed-files.mjs'

const { files, concurrency, options, report } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => interrupted.abort())

// The time limit is that of a test, not of a file.
const execArgv = ['--test-timeout=300000', ...options]
const tests = run({ files, concurrency, execArgv, signal: interrupted.signal })
tests.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1
})
compose(tests, new spec()).pipe(process.stdout)
const written = compose(tests, failedFiles)
// Of a run that did not come to its end nothing is said.
written.on('data', (line) => {
  if (!interrupted.signal.aborted) createWriteStream(report).end(line)
})
written.on('end', () => {
  if (interrupted.signal.aborted) process.exitCode = 130
})
