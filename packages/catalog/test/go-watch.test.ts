import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { programFile } from '../src/folders.ts'

// A stand-in for the compiler: "compiles" main.go, which holds a shell script, by copying it; one that holds the word
// BROKEN does not compile. What is tested is the watching, which does not depend on the language.
const compiler = `#!/bin/sh
[ "$1 $2 $4" = "build -o ./cmd/web" ] || { echo "called with $*" >&2; exit 2; }
if grep -q BROKEN main.go; then echo "main.go:1: syntax error" >&2; exit 1; fi
cp main.go "$3" && chmod +x "$3"
`
const program = (name: string) => `#!/bin/sh
trap 'echo "${name} stops"; exit 0' TERM
echo "${name} runs"
while :; do sleep 0.02; done
`

let folder: string
let child: ChildProcess
let output: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stackquay-go-'))
  mkdirSync(join(folder, 'source'))
  writeFileSync(join(folder, 'go'), compiler, { mode: 0o755 })
})

afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
})

describe('The watcher of Go programs, with a stand-in for the compiler', () => {
  test('builds and runs, replaces the program on change, and stops it when it is stopped', async () => {
    source('main.go', program('first'))
    watch()
    await said('first runs')
    source('main.go', program('second'))
    await said('second runs')
    assert.ok(output.indexOf('first stops') < output.indexOf('second runs'), output)
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
    assert.match(output, /second stops/)
  })

  test('keeps the last good program while a build fails', async () => {
    source('main.go', program('good'))
    watch()
    await said('good runs')
    source('main.go', 'BROKEN')
    await said('syntax error')
    await said('The last good one goes on')
    assert.doesNotMatch(output, /good stops/)
    source('main.go', program('repaired'))
    await said('repaired runs')
  })

  test('waits for a change when the first build fails, instead of ending again and again', async () => {
    source('main.go', 'BROKEN')
    watch()
    await said('Waiting for a change')
    source('main.go', program('good'))
    await said('good runs')
  })

  test('does not build for files that no program is made of', async () => {
    source('main.go', program('good'))
    watch()
    await said('good runs')
    mkdirSync(join(folder, 'source', '.git'))
    mkdirSync(join(folder, 'source', 'node_modules'))
    source('notes.md', 'x')
    source('.git/x.go', 'x')
    source('node_modules/x.go', 'x')
    await new Promise((resolve) => setTimeout(resolve, 400))
    assert.equal(output.match(/Built in/g)?.length, 1)
  })

  test('ends as its program ends, so that a crash is seen', async () => {
    source('main.go', '#!/bin/sh\necho bye\nexit 7\n')
    watch()
    assert.deepEqual(await once(child, 'exit'), [7, null])
  })
})

function source(name: string, text: string): void {
  writeFileSync(join(folder, 'source', name), text)
}

function watch(): void {
  const args = ['--go', join(folder, 'go'), '--package', './cmd/web', '--output', join(folder, 'bin', 'server')]
  child = spawn(process.execPath, [programFile('go-watch'), ...args], { cwd: join(folder, 'source') })
  output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += chunk
    })
}

async function said(text: string): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!output.includes(text)) {
    if (Date.now() > deadline) assert.fail(`It never said "${text}":\n${output}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
