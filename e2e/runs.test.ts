import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunFrame } from '@stackquay/contract'
import { isAlive } from '@stackquay/testkit'
import { WebSocket } from 'ws'
import { type Service, startService, until } from './support/service.ts'

const lineCount = 100_000

/** Prints its lines over a quarter of a minute, wherever its reader is. */
const linesProgram = `
const count = ${lineCount}
let at = 0
const timer = setInterval(() => {
  let text = ''
  for (const end = Math.min(at + 350, count); at < end; at += 1) text += 'line ' + at + '\\n'
  process.stdout.write(text)
  if (at === count) clearInterval(timer)
}, 50)
`

/** A tree of three that hears no SIGTERM: itself, a child, and one in a session of its own. */
const stubbornProgram = `
import { spawn } from 'node:child_process'
process.on('SIGTERM', () => {})
const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
const child = spawn(process.execPath, ['-e', deaf], { stdio: 'inherit' })
const apart = spawn(process.execPath, ['-e', deaf], { stdio: 'ignore', detached: true })
console.log('pids ' + [process.pid, child.pid, apart.pid].join(' '))
setInterval(() => {}, 1000)
`

const testProgram = `import { test } from 'node:test'
import assert from 'node:assert/strict'

test('adds', () => assert.equal(1 + 1, 2))
test('fails', () => {
  assert.equal(1 + 1, 3)
})
test('is left out', { skip: true }, () => {})
`

/** Fails the first time it runs, and passes ever after. What it remembers is no part of the source. */
const flakyProgram = `import { test } from 'node:test'
import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

test('is moody', () => {
  const file = join(tmpdir(), 'stackquay-moody-${randomUUID()}')
  if (existsSync(file)) return
  writeFileSync(file, '')
  throw new Error('not today')
})
`

describe('runs of a project that is stopped', () => {
  let service: Service
  before(async () => {
    service = await startService()
    await makeProject('shop')
  })
  after(() => service.close())

  async function makeProject(slug: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const body = { name: slug, node: {}, start: false }
    const made = await service.client.call('createProject', { body, query: { wait: 60 } })
    const scripts = {
      lines: 'node lines.mjs',
      stubborn: 'node stubborn.mjs',
      hello: 'echo hello',
      fails: 'exit 7',
      counts: 'node counts.mjs',
      test: 'node --test',
    }
    const files = {
      'package.json': JSON.stringify({ name: slug, private: true, scripts }),
      'lines.mjs': linesProgram,
      'counts.mjs': `import { appendFileSync } from 'node:fs'\nappendFileSync('counts.txt', '.')\n`,
      'stubborn.mjs': stubbornProgram,
      'sum.test.mjs': testProgram,
      ...more,
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(made.path, name), text)
  }

  const runAction = (action: string, wait = 0, id = 'shop') =>
    service.client.call('runAction', { params: { id, action: `node.${action}` }, query: { wait } })
  const readRun = (run: string, wait = 60) =>
    service.client.call('getRun', { params: { id: 'shop', run }, query: { wait } })
  const outputOf = async (run: string, id = 'shop'): Promise<string> => {
    const answer = await fetch(`${service.url}/api/v1/projects/${id}/runs/${run}/output`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    return answer.ok ? answer.text() : ''
  }

  it('an action says what it printed and how it ended', async () => {
    const good = await runAction('hello', 60)
    assert.deepEqual([good.state, good.exitCode, good.error], ['succeeded', 0, null], service.output())
    assert.match(await outputOf(good.id), /^hello$/m)
    const bad = await runAction('fails', 60)
    assert.deepEqual([bad.state, bad.exitCode], ['failed', 7])
    const { items } = await service.client.call('listRuns', { params: { id: 'shop' } })
    assert.deepEqual(
      items.map(({ id }) => id),
      [bad.id, good.id],
    )
  })

  it('a reader of 100,000 lines whose socket is cut 50 times, while the service is killed twice, misses and repeats none', {
    timeout: 240_000,
  }, async (t) => {
    const random = randomFrom(20_261_122)
    const cuts = Array.from({ length: 50 }, () => Math.floor(random() * lineCount)).sort((a, b) => a - b)
    const run = await runAction('lines')
    const reader = createReader(service, `/projects/shop/runs/${run.id}/ws`, cuts)
    const reading = reader.read()
    let isOver = false
    reading.then(
      () => (isOver = true),
      () => (isOver = true),
    )
    for (const share of [0.25, 0.6]) {
      await until(async () => isOver || reader.lines() >= lineCount * share, `line ${lineCount * share}`, 120_000)
      assert.equal(isOver, false, 'the reading ended before its time')
      await service.kill()
      await delay(300)
      await service.start()
    }
    const exit = await reading
    assert.ok(exit.type === 'exit' && exit.run.state === 'succeeded', JSON.stringify(exit))
    const lines = reader
      .text()
      .split('\n')
      .filter((line) => line.startsWith('line '))
    const firstWrong = lines.findIndex((line, at) => line !== `line ${at}`)
    assert.deepEqual([lines.length, firstWrong], [lineCount, -1], `line ${firstWrong} is "${lines[firstWrong]}"`)
    assert.ok(reader.cuts() >= 50)
    t.diagnostic(`${reader.cuts()} cuts, ${reader.connections()} connections`)
    const commands = await service.client.call('listRuns', { params: { id: 'shop' }, query: { name: 'node.lines' } })
    assert.equal(commands.items.length, 1)
  })

  it('a cancelled tree that ignores SIGTERM is gone after its deadline, with all its processes, and its slot is free', {
    timeout: 120_000,
  }, async (t) => {
    const run = await runAction('stubborn')
    const pids = await pidsOf(run.id)
    assert.deepEqual(await living(pids), pids)
    const busy = await runAction('stubborn').catch((error: { problem: unknown }) => error.problem)
    assert.deepEqual([(busy as { code: string }).code, (busy as { run: string }).run], ['busy', run.id])
    const began = performance.now()
    const cancelled = await service.client.call('cancelRun', {
      params: { id: 'shop', run: run.id },
      query: { wait: 60 },
    })
    const seconds = (performance.now() - began) / 1000
    t.diagnostic(`gone after ${seconds.toFixed(2)} s of a deadline of 10 s`)
    assert.equal(cancelled.state, 'cancelled')
    assert.ok(seconds >= 9 && seconds < 40, `${seconds}`)
    assert.deepEqual(await living(pids), [])
    const again = await runAction('stubborn')
    assert.notEqual(again.id, run.id)
    await service.client.call('cancelRun', { params: { id: 'shop', run: again.id }, query: { wait: 60 } })
  })

  it('a run of tests has counts, and the failed test with its file and line', async () => {
    const { suites } = await service.client.call('listTests', { params: { id: 'shop' } })
    const suite = suites.find(({ runner }) => runner === 'node-test')
    assert.ok(suite, JSON.stringify(suites))
    const run = await service.client.call('runTests', { params: { id: 'shop', suite: suite.id }, query: { wait: 120 } })
    assert.deepEqual(
      [run.state, run.tests],
      ['failed', { total: 3, passed: 1, failed: 1, skipped: 1, flaky: 0 }],
      JSON.stringify(run) + (await outputOf(run.id)),
    )
    const { items } = await service.client.call('listTestCases', { params: { id: 'shop', run: run.id } })
    const [first] = items
    assert.deepEqual([first?.name, first?.outcome, first?.file, first?.line], ['fails', 'failed', 'sum.test.mjs', 6])
    assert.match(first?.message ?? '', /3/)
    assert.deepEqual((await service.client.call('listTests', { params: { id: 'shop' } })).runs[0]?.id, run.id)
  })

  it('tests that end while the service is away are counted when it is back', { timeout: 120_000 }, async () => {
    const { suites } = await service.client.call('listTests', { params: { id: 'shop' } })
    const suite = suites.find(({ runner }) => runner === 'node-test')!
    const run = await service.client.call('runTests', { params: { id: 'shop', suite: suite.id } })
    await until(async () => (await readRun(run.id, 0)).startedAt !== null, 'the tests to begin', 60_000)
    await service.kill()
    await delay(3_000)
    await service.start()
    const ended = await readRun(run.id)
    assert.deepEqual([ended.state, ended.tests?.failed, ended.tests?.total], ['failed', 1, 3], JSON.stringify(ended))
  })

  it('a test that failed and then passed on the same source is flaky', { timeout: 120_000 }, async () => {
    await makeProject('moody', { 'moody.test.mjs': flakyProgram })
    const { suites } = await service.client.call('listTests', { params: { id: 'moody' } })
    const params = { id: 'moody', suite: suites.find(({ runner }) => runner === 'node-test')!.id }
    const first = await service.client.call('runTests', { params, query: { wait: 120 } })
    assert.deepEqual([first.tests?.failed, first.tests?.flaky], [2, 0], JSON.stringify(first))
    const second = await service.client.call('runTests', { params, query: { wait: 120 } })
    assert.deepEqual([second.tests?.failed, second.tests?.flaky], [1, 1], JSON.stringify(second))
    const { items } = await service.client.call('listTestCases', {
      params: { id: 'moody', run: second.id },
      query: { outcome: 'flaky' },
    })
    assert.deepEqual(
      items.map(({ name, outcome }) => [name, outcome]),
      [['is moody', 'passed']],
    )
    await writeFile(await pathOf('moody', 'another.mjs'), 'export {}')
    const third = await service.client.call('runTests', { params, query: { wait: 120 } })
    assert.deepEqual([third.tests?.failed, third.tests?.flaky], [1, 0], JSON.stringify(third))
  })

  it('killed at 5 random moments of a run’s life, the service ends every run and runs no command twice', {
    timeout: 240_000,
  }, async (t) => {
    const random = randomFrom(20_261_123)
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < 5; round += 1) {
      const answer = runAction('counts').catch(() => null)
      await delay(random() * 700)
      await service.kill()
      await answer
      await service.start()
      const { items } = await service.client.call('listRuns', {
        params: { id: 'shop' },
        query: { name: 'node.counts', limit: 1 },
      })
      if (items[0] === undefined) continue
      const ended = await readRun(items[0].id)
      const how = `${ended.state} ${ended.error?.code ?? ended.exitCode}`
      outcomes[how] = (outcomes[how] ?? 0) + 1
      assert.equal(how, 'succeeded 0', JSON.stringify(ended))
    }
    const { items } = await service.client.call('listRuns', {
      params: { id: 'shop' },
      query: { name: 'node.counts', limit: 50 },
    })
    const begun = (await readFile(await pathOf('shop', 'counts.txt'), 'utf8').catch(() => '')).length
    const succeeded = items.filter(({ state }) => state === 'succeeded').length
    assert.ok(begun === succeeded && begun === items.length, `${begun} of ${items.length}, ${succeeded} succeeded`)
    assert.ok(items.every(({ state }) => state === 'succeeded' || state === 'failed'))
    t.diagnostic(JSON.stringify({ ...outcomes, begun, runs: items.length }))
  })

  it('a project that is deleted leaves no process of its runs', { timeout: 120_000 }, async () => {
    await makeProject('gone')
    const run = await runAction('stubborn', 0, 'gone')
    const pids = await pidsOf(run.id, 'gone')
    const removed = await service.client.call('deleteProject', {
      params: { id: 'gone' },
      query: { confirm: 'gone', data: 'delete', wait: 60 },
    })
    assert.equal(removed.state, 'succeeded', JSON.stringify(removed.error))
    assert.deepEqual(await living(pids), [])
  })

  const pathOf = async (id: string, name: string) =>
    join((await service.client.call('getProject', { params: { id } })).path, name)

  async function pidsOf(run: string, id = 'shop'): Promise<readonly number[]> {
    let pids: readonly number[] = []
    await until(
      async () => {
        pids =
          /pids (.+)$/m
            .exec(await outputOf(run, id))?.[1]
            ?.split(' ')
            .map(Number) ?? []
        return pids.length === 3
      },
      'the program to say its process ids',
      60_000,
    )
    return pids
  }
})

async function living(pids: readonly number[]): Promise<readonly number[]> {
  const known = await Promise.all(pids.map(async (pid) => ((await isAlive(pid)) ? [pid] : [])))
  return known.flat()
}

/** Reads a run to its end, however often its socket is cut: on purpose at certain lines, or because the service is gone. */
function createReader(service: Service, path: string, cutsAt: readonly number[]) {
  const waiting = [...cutsAt]
  const parts: string[] = []
  let lines = 0
  let position = 0
  let cuts = 0
  let connections = 0

  const attempt = (): Promise<RunFrame | null> => {
    const { promise, resolve, reject } = Promise.withResolvers<RunFrame | null>()
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/api/v1${path}?after=${position}`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    let isCut = false
    socket.on('open', () => (connections += 1))
    socket.on('error', () => resolve(null))
    socket.on('close', () => resolve(null))
    socket.on('message', (data: Buffer) => {
      if (isCut) return
      const frame = JSON.parse(data.toString()) as RunFrame
      if (frame.type === 'exit') resolve(frame)
      if (frame.type === 'gap') reject(new Error(`${frame.bytes} bytes are missing at ${frame.seq}`))
      if (frame.type === 'error' && frame.problem.code !== 'unavailable') reject(new Error(JSON.stringify(frame)))
      if (frame.type !== 'output') return
      position = frame.seq
      parts.push(frame.text)
      lines += frame.text.split('\n').length - 1
      if (waiting.length === 0 || lines < waiting[0]!) return
      waiting.shift()
      cuts += 1
      isCut = true
      socket.terminate()
    })
    return promise.finally(() => socket.terminate())
  }

  return {
    lines: () => lines,
    cuts: () => cuts,
    connections: () => connections,
    text: () => parts.join(''),
    read: async (): Promise<RunFrame> => {
      for (;;) {
        const exit = await attempt()
        if (exit !== null) return exit
        await delay(20)
      }
    },
  }
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
