import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { programFile } from '../src/folders.ts'

let home = ''
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'stackquay-output-'))
})
after(() => rm(home, { recursive: true, force: true }))

/** Runs a shell script below the program; `started` may send signals once it has printed something. */
async function run(format: string, script: string, started?: (pid: number) => void, results = join(home, 'results')) {
  const args = [programFile('test-output'), `--format=${format}`, `--results=${results}`, '--', '/bin/sh', '-c', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.once('data', () => started?.(child.pid!))
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { code, signal, stdout, stderr, results: await readFile(results, 'utf8').catch(() => '') }
}

describe('The program between a runner and its results', () => {
  test('ends with the code of the runner, and keeps both outputs apart', async () => {
    const ended = await run('text', 'echo "test a ... ok"; echo compiling >&2; exit 101')
    assert.deepEqual([ended.code, ended.stdout, ended.stderr], [101, 'test a ... ok\n', 'compiling\n'])
    assert.deepEqual(ended.results.split('\n').sort(), ['', 'compiling', 'test a ... ok'])
  })

  test('ends by the signal that ended the runner', async () => {
    const ended = await run('text', 'kill -KILL $$')
    assert.deepEqual([ended.code, ended.signal], [null, 'SIGKILL'])
  })

  test('hands a signal on and waits: the runner may clean up', async () => {
    const ended = await run(
      'text',
      'trap "echo cleaned; exit 7" TERM; echo ready; while :; do sleep 0.05; done',
      (pid) => process.kill(pid, 'SIGTERM'),
    )
    assert.deepEqual([ended.code, ended.stdout], [7, 'ready\ncleaned\n'])
  })

  test('shows the text of events, and lines that are none, and keeps the events', async () => {
    const events = [
      { Action: 'start', Package: 'a' },
      { Action: 'output', Package: 'a', Output: '=== RUN   TestA\n' },
      { Action: 'output', Package: 'a', Output: '    a_test.go:3: wrong\n' },
      { Action: 'fail', Package: 'a' },
    ]
    const file = join(home, 'events')
    await writeFile(file, `${events.map((event) => JSON.stringify(event)).join('\n')}\n{ not json\n# a/b\n`)
    const ended = await run('go', `cat '${file}'; exit 1`)
    assert.equal(ended.stdout, '    a_test.go:3: wrong\n{ not json\n# a/b\n')
    assert.equal(ended.results, `${events.map((event) => JSON.stringify(event)).join('\n')}\n`)
    assert.equal(ended.code, 1)
  })

  test('keeps what Go before 1.24 says of a package that does not compile as the events of later ones', async () => {
    const ended = await run(
      'go',
      String.raw`printf '# a/b [a/b.test]\nb/b_test.go:6:2: undefined: x\n' >&2; printf 'FAIL\ta/b [build failed]\n'; exit 2`,
    )
    assert.equal(ended.stdout, 'FAIL\ta/b [build failed]\n')
    const events = ended.results
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      events.toSorted((a, b) => a.Action.localeCompare(b.Action)),
      [
        { Action: 'build-output', ImportPath: 'a/b [a/b.test]', Output: '# a/b [a/b.test]\n' },
        { Action: 'build-output', ImportPath: 'a/b [a/b.test]', Output: 'b/b_test.go:6:2: undefined: x\n' },
        { Action: 'fail', Package: 'a/b' },
      ],
    )
  })

  test('says when the runner is not there', async () => {
    const args = [
      programFile('test-output'),
      '--format=text',
      `--results=${join(home, 'none')}`,
      '--below-home=.cargo/bin',
    ]
    const child = spawn(process.execPath, [...args, '--', 'no-such-cargo', 'test'], {
      env: { PATH: '/nowhere', HOME: home },
    })
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = (await once(child, 'close')) as [number]
    assert.deepEqual([code, stderr], [127, 'no-such-cargo is not installed here, or not in PATH.\n'])
  })

  test('finds a runner below the home folder that is not in PATH', async () => {
    await mkdir(join(home, '.cargo/bin'), { recursive: true })
    await writeFile(join(home, '.cargo/bin/own-cargo'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
    const args = [
      programFile('test-output'),
      '--format=text',
      `--results=${join(home, 'own')}`,
      '--below-home=.cargo/bin',
    ]
    const child = spawn(process.execPath, [...args, '--', 'own-cargo', 'test', '--', '--', '-x'], {
      env: { PATH: '/usr/bin:/bin', HOME: home },
    })
    const [code] = (await once(child, 'close')) as [number]
    assert.equal(code, 0)
    assert.equal(await readFile(join(home, 'own'), 'utf8'), 'test -- -- -x\n')
  })

  test('lets the tests go on when their results cannot be written', async () => {
    const ended = await run('text', 'echo one; sleep 0.2; echo two', undefined, join(home, 'no-folder/results'))
    assert.deepEqual([ended.code, ended.stdout], [0, 'one\ntwo\n'])
    assert.match(ended.stderr, /The results of the tests cannot be written/)
  })
})
