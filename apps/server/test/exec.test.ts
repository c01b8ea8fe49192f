import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry, Terminal } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { createOutputLines, unfinished } from '../src/terminals/output-lines.ts'
import { createStdinChannel } from '../src/terminals/stdin-channel.ts'
import { openTestApp, type ProblemAnswer, type TestApp } from './projects-support.ts'
import { connect } from './terminals-support.ts'

async function withProject(t: { after(end: () => unknown): void }): Promise<TestApp> {
  const app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=30', { name: 'Shop', node: {}, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return app
}

const exec = (app: TestApp, body: object) => app.ask<string>('POST', '/projects/shop/exec', body)
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('a program’s output comes as lines of JSON, with its exit code at the end', async (t) => {
  const app = await withProject(t)
  app.engine.nextCommand({
    output: [{ text: 'one\n' }, { stream: 'stderr', text: 'two ✓\n' }],
    exit: { code: 7 },
  })
  const answer = await exec(app, { argv: ['true', 'a', 's3cret'] })
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^application\/x-ndjson/)
  assert.deepEqual(linesOf(answer.body), [
    { stdout: 'one\n' },
    { stderr: 'two ✓\n' },
    { exit: { code: 7, signal: null } },
  ])
  const { items } = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=exec.run')).body
  assert.deepEqual(items[0]?.changes, { after: { program: 'true', arguments: 2, workload: 'node' } })
  assert.equal(JSON.stringify(items).includes('s3cret'), false, 'arguments are nobody’s but the program’s')
})

test('a missing program is a problem that says so, before anything runs', async (t) => {
  const app = await withProject(t)
  const refusal = async (body: object) => {
    const { status, body: problem } = await app.ask<ProblemAnswer>('POST', '/projects/shop/exec', body)
    return { status, code: problem.code, hint: problem.hint }
  }
  assert.equal((await refusal({ argv: ['no-such-program'] })).code, 'program_not_found')
  assert.equal((await refusal({ argv: ['./no-such-file'] })).code, 'program_not_found')
  assert.equal((await refusal({ argv: ['true\0'] })).code, 'validation_failed')
  assert.equal((await refusal({ argv: ['true'], workload: 'rust' })).code, 'not_found')
  assert.equal((await refusal({ argv: [] })).status, 422)
  const audited = async () => (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=exec.run')).body.items
  assert.deepEqual(await audited(), [])
  app.engine.nextCommand({ error: new EngineError('io_failed', 'No more processes.', { hint: 'Wait.' }) })
  assert.equal((await refusal({ argv: ['true'] })).code, 'io_failed')
  assert.deepEqual(
    (await audited()).map(({ outcome }) => outcome),
    ['failure', 'success'],
    'written down before it starts, and that it did not',
  )
})

test('over a WebSocket a program runs, gets signals, and says how it ended', async (t) => {
  const app = await withProject(t)
  app.engine.nextCommand({ output: [{ text: 'out' }, { stream: 'stderr', text: 'err' }], exit: null })
  const peer = await connect(t, app, '/projects/shop/exec/ws')
  peer.send({ type: 'run', argv: ['true'] })
  assert.equal(typeof (await peer.frame('start')).pid, 'number')
  await peer.shows('err')
  assert.deepEqual(peer.chunks, [Buffer.from('\x01out'), Buffer.from('\x02err')])
  peer.send({ type: 'signal', signal: 'SIGINT' })
  const { code, signal } = await peer.frame('exit')
  assert.deepEqual([code, signal], [null, 'SIGINT'])
  assert.equal(await peer.closed, 1000)
})

test('a program ends with the project that it runs in', async (t) => {
  const app = await withProject(t)
  app.engine.nextCommand({ output: [{ text: 'out' }], exit: null })
  const peer = await connect(t, app, '/projects/shop/exec/ws')
  peer.send({ type: 'run', argv: ['true'] })
  await peer.shows('out')
  const deleted = await app.ask<{ state: string }>('DELETE', '/projects/shop?confirm=shop&wait=30')
  assert.equal(deleted.body.state, 'succeeded')
  const { problem } = await peer.frame('error')
  assert.deepEqual([problem.code, problem.detail], ['aborted', 'The project is being deleted.'])
})

test('a frame that is none ends the conversation with what would be right', async (t) => {
  const app = await withProject(t)
  const peer = await connect(t, app, '/projects/shop/exec/ws')
  peer.send({ type: 'run', argv: 'ls' })
  const { problem } = await peer.frame('error')
  assert.equal(problem.code, 'invalid_request')
  assert.match(problem.hint, /"argv"/)
  const missing = await connect(t, app, '/projects/shop/exec/ws')
  missing.send({ type: 'run', argv: ['no-such-program'] })
  assert.equal((await missing.frame('error')).problem.code, 'program_not_found')
  assert.equal(await missing.closed, 4422)
})

test('a key for repetitions does not keep the answer from coming', async (t) => {
  const app = await withProject(t)
  app.engine.nextCommand({ output: [{ text: 'one\n' }], exit: { code: 0 } })
  const answer = await app.ask<string>('POST', '/projects/shop/exec', { argv: ['true'] }, { 'idempotency-key': 'k1' })
  assert.deepEqual(linesOf(answer.body), [{ stdout: 'one\n' }, { exit: { code: 0, signal: null } }])
})

test('beside a database and a service programs get the credentials of the application, while those run', async (t) => {
  const app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  const body = { name: 'Shop', databases: { main: { type: 'postgresql' } }, redis: { enabled: true } }
  const made = await app.ask('POST', '/projects?wait=30', { ...body, start: true })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { body: database } = await app.ask<{ password: string }>('GET', '/projects/shop/databases/main/credentials')
  const { body: redis } = await app.ask<{ password: string }>('GET', '/projects/shop/redis/credentials')
  const wanted = [
    ['postgresql-main', 'PGPASSWORD', database.password],
    ['redis', 'REDISCLI_AUTH', redis.password],
  ] as const
  const given: Parameters<typeof inner>[0][] = []
  const { exec: inner } = app.engine.commands
  Object.assign(app.engine.commands, {
    exec: (...parameters: Parameters<typeof inner>) => {
      given.push(parameters[0])
      return inner(...parameters)
    },
  })
  for (const [workload, variable, password] of wanted) {
    app.engine.nextCommand({ output: [{ text: 'one' }], exit: { code: 0 } })
    const answer = await exec(app, { argv: ['true'], workload })
    assert.deepEqual(linesOf(answer.body), [{ stdout: 'one' }, { exit: { code: 0, signal: null } }])
    const { env: ofProgram, data, cwd } = given.at(-1)!
    assert.deepEqual([data, cwd, Array.isArray(ofProgram[variable])], [[], made.body.path, true])
    const opened = await app.ask<Terminal>('POST', '/projects/shop/terminals', { workload })
    assert.equal(opened.status, 201, JSON.stringify(opened.body))
    const { env, spec } = app.engine.command({ project: made.body.id, id: opened.body.id })!
    assert.deepEqual([env[variable], opened.body.workload], [password, workload])
    assert.deepEqual([spec.data, spec.cwd, spec.idleSeconds], [[], made.body.path, 12 * 3600])
    assert.match(env.PS1!, new RegExp(`^shop\\+${workload}`))
    assert.equal(JSON.stringify(spec).includes(password), false, 'secrets go to the engine as references')
  }
  const { items } = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit')).body
  assert.ok(items.some(({ changes }) => JSON.stringify(changes).includes('"workload":"postgresql-main"')))
  for (const [, , password] of wanted) assert.equal(JSON.stringify(items).includes(password), false)
  const ssh = await app.ask<{ workloads: { user: string }[] }>('GET', '/projects/shop/ssh')
  assert.deepEqual(
    ssh.body.workloads.map(({ user }) => user),
    ['shop+postgresql-main', 'shop+redis'],
  )

  await app.ask('POST', '/projects/shop/stop?wait=30')
  const before = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=exec.run')).body.items.length
  for (const [path, more] of [
    ['exec', { argv: ['true'] }],
    ['terminals', {}],
  ] as const) {
    const asked = { workload: 'redis', ...more }
    const { status, body: problem } = await app.ask<ProblemAnswer>('POST', `/projects/shop/${path}`, asked)
    assert.deepEqual([status, problem.code, problem.detail], [409, 'not_running', 'Redis does not run.'], path)
  }
  const after = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=exec.run')).body.items.length
  assert.equal(after, before, 'nothing was begun')
  const { body: kept } = await app.ask<{ items: Terminal[] }>('GET', '/projects/shop/terminals')
  assert.deepEqual(
    kept.items.map(({ state }) => state),
    ['running', 'running'],
  )
})

test('a hook names a runtime and no database', async (t) => {
  const app = await withProject(t)
  const { status } = await app.ask('PATCH', '/projects/shop?wait=30', {
    databases: { main: { type: 'postgresql' } },
    hooks: { 'before-start': { command: ['true'], runtime: 'postgresql-main' } },
  })
  assert.equal(status, 422)
})

test('who may only read runs nothing', async (t) => {
  const app = await withProject(t)
  const reader = await app.as('read')
  assert.equal((await reader('POST', '/projects/shop/exec', { argv: ['true'] })).status, 403)
})

test('text stays text wherever it is cut, and any other bytes come back as they were', () => {
  const text = Buffer.from('aé✓🚀z')
  for (let cut = 0; cut <= text.length; cut += 1) {
    const lines = createOutputLines()
    const all = lines.line('stdout', text.subarray(0, cut)) + lines.line('stdout', text.subarray(cut)) + lines.rest()
    const parts = linesOf(all)
    assert.ok(
      parts.every((part) => part.encoding === undefined),
      `cut at ${cut}`,
    )
    assert.equal(parts.map((part) => part.stdout).join(''), 'aé✓🚀z')
  }
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256))
  const lines = createOutputLines()
  const all = lines.line('stdout', bytes.subarray(0, 250)) + lines.line('stdout', bytes.subarray(250)) + lines.rest()
  const back = linesOf(all).map(({ stdout, encoding }) => Buffer.from(stdout, encoding ?? 'utf8'))
  assert.deepEqual(Buffer.concat(back), bytes)
  assert.equal(unfinished(Buffer.from('é').subarray(0, 1)), 1)
  assert.equal(unfinished(Buffer.from([0x80, 0x80, 0x80, 0x80])), 0)
})

test('standard input waits for its reader, and is dropped when nobody reads any more', async () => {
  const channel = createStdinChannel(10)
  await channel.write(Buffer.from('0123456789'))
  let held = true
  const writing = channel.write(Buffer.from('more')).then(() => {
    held = false
  })
  await new Promise(setImmediate)
  assert.equal(held, true)
  const reader = channel[Symbol.asyncIterator]()
  assert.equal(String((await reader.next()).value), '0123456789')
  await writing
  channel.end()
  assert.equal(String((await reader.next()).value), 'more')
  assert.equal((await reader.next()).done, true)
  await channel.write(Buffer.alloc(1000))

  const dropped = createStdinChannel(10)
  const stuck = dropped.write(Buffer.alloc(100))
  dropped.drop()
  await stuck
})
