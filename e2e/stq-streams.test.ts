import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

const stqFile = fileURLToPath(new URL('../apps/cli/bin/stq', import.meta.url))
const lineCount = 20_000

/** Prints its lines over some seconds, and how it was cancelled. */
const linesProgram = `
let at = 0
const timer = setInterval(() => {
  let text = ''
  for (const end = Math.min(at + 250, ${lineCount}); at < end; at += 1) text += 'line ' + at + '\\n'
  process.stdout.write(text)
  if (at < ${lineCount}) return
  clearInterval(timer)
  process.exitCode = 7
}, 50)
`
const waitProgram = `
process.on('SIGINT', () => { console.log('heard SIGINT'); process.exit(9) })
console.log('ready')
setInterval(() => {}, 1000)
`
const testProgram = `import { test } from 'node:test'
import assert from 'node:assert/strict'
test('adds', () => {})
test('fails', () => {
  assert.equal(1, 2)
})
`
const serverProgram = `
let count = 0
setInterval(() => console.log('tick ' + count++), 100)
require('http').createServer((q, a) => a.end('ok')).listen(process.env.PORT, '127.0.0.1')
`

describe('the command line and its streams', () => {
  let service: Service
  let root: SourceRoot
  let home: string
  before(async () => {
    root = await makeSourceRoot()
    home = await mkdtemp(join(tmpdir(), 'stq-e2e-'))
    service = await startService({ roots: root.path })
    const scripts = { start: 'node server.js', lines: 'node lines.mjs', wait: 'node wait.mjs', test: 'node --test' }
    const path = await root.folder('shop', {
      'package.json': JSON.stringify({ name: 'shop', private: true, scripts }),
      'server.js': serverProgram,
      'lines.mjs': linesProgram,
      'wait.mjs': waitProgram,
      'sum.test.mjs': testProgram,
    })
    await service.client.call('createProject', { body: { name: 'Shop', path, start: false }, query: { wait: 60 } })
  })
  after(async () => {
    await service?.close()
    await root?.remove()
    if (home !== undefined) await rm(home, { recursive: true, force: true })
  })

  it('exec passes bytes, exit codes and signals of a program through', { timeout: 120_000 }, async () => {
    const input = randomBytes(3_000_000)
    const copied = stq(['exec', 'shop', '--', 'cat'])
    copied.child.stdin!.end(input)
    const { code, stdout } = await copied.ended
    assert.equal(code, 0)
    assert.ok(stdout.equals(input))

    const both = stq(['exec', 'shop', '-e', 'WORD=a b', '--', 'sh', '-c', 'printf "$WORD"; printf oh >&2; exit 42'])
    both.child.stdin!.end()
    const end = await both.ended
    assert.deepEqual([end.code, end.stdout.toString(), end.stderr.toString()], [42, 'a b', 'oh'])

    const waiting = stq(['exec', 'shop', '--', 'node', 'wait.mjs'])
    await until(async () => waiting.stdout().includes('ready'), 'the program to run')
    waiting.child.kill('SIGINT')
    const heard = await waiting.ended
    assert.deepEqual([heard.code, heard.stdout.toString()], [9, 'ready\nheard SIGINT\n'])

    assert.equal((await stq(['exec', 'shop', '--no-stdin', '--', 'no-such-program']).ended).code, 127)
  })

  it('run shows every line once although the service is killed and comes back, and ends with the code of the program', {
    timeout: 120_000,
  }, async () => {
    const running = stq(['run', 'shop', 'lines', '--quiet'])
    await until(async () => running.stdout().includes('line 1000\n'), 'the first lines')
    await service.kill()
    await service.start()
    const { code, stdout, stderr } = await running.ended
    assert.equal(code, 7, stderr.toString())
    // What npm says before is no line of ours.
    const lines = stdout
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('line '))
    assert.deepEqual(
      lines,
      Array.from({ length: lineCount }, (_, index) => `line ${index}`),
    )
    const { items } = await service.client.call('listRuns', { params: { id: 'shop' }, query: { name: 'node.lines' } })
    assert.equal(items.length, 1)
  })

  it('Ctrl-C ends a run with everything it started', { timeout: 120_000 }, async () => {
    const running = stq(['run', 'shop', 'wait'])
    await until(async () => running.stdout().includes('ready'), 'the run to begin')
    running.child.kill('SIGINT')
    const { code } = await running.ended
    assert.equal(code, 130)
    const query = { name: 'node.wait', limit: 1 }
    const { items } = await service.client.call('listRuns', { params: { id: 'shop' }, query })
    assert.equal(items[0]?.state, 'cancelled')
  })

  it('test ends with 1 and names the failed test with its file and line', { timeout: 120_000 }, async () => {
    const { code, stderr } = await stq(['test', 'shop']).ended
    assert.equal(code, 1, stderr.toString())
    assert.match(stderr.toString(), /1 of 2 failed/)
    assert.match(stderr.toString(), /✖ .*fails .*sum\.test\.mjs:[45]$/m)
  })

  it('shell on a real terminal goes on in place through a restart of the service, and ends with the code of the shell', {
    timeout: 120_000,
  }, async () => {
    const shell = onPty(['shell', 'shop'])
    await until(async () => shell.stdout().includes('leaves it running'), 'the shell')
    shell.child.stdin!.write('echo "first"-$((20 + 1)); stty size\r')
    await until(async () => shell.stdout().includes('first-21'), 'the first answer')
    await service.kill()
    await service.start()
    shell.child.stdin!.write('echo "second"-$((20 + 2))\r')
    await until(async () => shell.stdout().includes('second-22'), 'the second answer')
    shell.child.stdin!.write('exit 5\r')
    const { code, stdout } = await shell.ended
    assert.equal(code, 5, stdout.toString())
    assert.equal(stdout.toString().split('first-21').length, 2)
  })

  it('logs -f goes on with new lines until Ctrl-C', { timeout: 120_000 }, async () => {
    await service.client.call('startProject', { params: { id: 'shop' }, query: { wait: 60 } })
    const following = stq(['logs', 'shop', '-f', '--grep', 'tick', '--no-prefix'])
    await until(async () => following.stdout().split('\n').length > 12, 'lines')
    following.child.kill('SIGINT')
    const { code, stdout } = await following.ended
    assert.equal(code, 130)
    const numbers = [...stdout.toString().matchAll(/^tick (\d+)$/gm)].map((match) => Number(match[1]))
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => numbers[0]! + index),
    )
  })

  function stq(args: readonly string[]) {
    return watched(spawn(process.execPath, [stqFile, ...args], { env: environment(), stdio: 'pipe' }))
  }

  /** A terminal of its own, from util-linux; `-e` passes the exit code on. */
  function onPty(args: readonly string[]) {
    const line = [process.execPath, stqFile, ...args].map((word) => `'${word}'`).join(' ')
    return watched(spawn('script', ['-qfec', line, '/dev/null'], { env: environment(), stdio: 'pipe' }))
  }

  function environment(): NodeJS.ProcessEnv {
    const { PATH } = process.env
    return { PATH, HOME: home, TERM: 'xterm', STACKQUAY_URL: service.url, STACKQUAY_TOKEN: service.token }
  }
})

function watched(child: ChildProcess) {
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  child.stdout!.on('data', (bytes: Buffer) => stdout.push(bytes))
  child.stderr!.on('data', (bytes: Buffer) => stderr.push(bytes))
  child.stdin!.on('error', () => {})
  const guard = setTimeout(() => child.kill('SIGKILL'), 100_000)
  const ended = new Promise<{ code: number | null; stdout: Buffer; stderr: Buffer }>((resolve) =>
    child.on('close', (code) => {
      clearTimeout(guard)
      resolve({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) })
    }),
  )
  return { child, ended, stdout: () => Buffer.concat(stdout).toString() }
}
