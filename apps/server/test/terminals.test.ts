import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { AuditEntry, ProjectView, Terminal } from '@stackquay/contract'
import { EngineError } from '@stackquay/engine-api'
import { openTestApp, type ProblemAnswer, type TestApp } from './projects-support.ts'
import { connect } from './terminals-support.ts'

async function withProject(t: { after(end: () => unknown): void }): Promise<{ app: TestApp; project: ProjectView }> {
  const app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=30', { name: 'Shop', node: {}, start: false })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { app, project: made.body }
}

const open = (app: TestApp, body: object = {}) => app.ask<Terminal>('POST', '/projects/shop/terminals', body)
const list = async (app: TestApp) =>
  (await app.ask<{ items: Terminal[] }>('GET', '/projects/shop/terminals')).body.items
const audit = async (app: TestApp, action: string) =>
  (await app.ask<{ items: AuditEntry[] }>('GET', `/audit?action=${action}`)).body.items

async function until(look: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`waited 30 s for ${what}`)
    await delay(20)
  }
}

test('a terminal opens in a project that is stopped, in the environment and the folder of its runtime', async (t) => {
  const { app, project } = await withProject(t)
  await app.ask('PATCH', '/projects/shop?wait=30', {
    env: { COLOUR: 'blue', KEY: { value: 's3cret', secret: true } },
  })
  const made = await open(app, { cols: 120, rows: 40 })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { id, state, cols, rows, workload, actor } = made.body
  assert.deepEqual({ state, cols, rows, workload }, { state: 'running', cols: 120, rows: 40, workload: 'node' })
  assert.match(actor, /^ada \(token: /)
  const command = app.engine.command({ project: project.id, id })!
  assert.equal(command.spec.cwd, project.path)
  assert.deepEqual(command.spec.stop, { signal: 'SIGHUP', deadlineSeconds: 3 })
  assert.equal(command.spec.idleSeconds, 12 * 3600)
  assert.equal(command.spec.keepBytes, 1 << 20)
  assert.equal(command.env.COLOUR, 'blue')
  assert.equal(command.env.KEY, 's3cret')
  assert.equal(command.env.TERM, 'xterm-256color')
  assert.match(command.env.PS1!, /^shop/)
  assert.equal(command.env.PORT, undefined)
  assert.equal(JSON.stringify(command.spec).includes('s3cret'), false, 'secrets go to the engine as references')
  assert.deepEqual(
    (await list(app)).map((one) => one.id),
    [id],
  )
})

test('its viewers see the same bytes, whoever typed, and come back where they were', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const path = `/projects/shop/terminals/${id}/ws`
  const first = await connect(t, app, path)
  assert.equal((await first.frame('start')).seq, 0)
  const second = await connect(t, app, path)
  await second.frame('start')
  first.send(Buffer.from('hello '))
  await second.shows('hello ')
  second.send(Buffer.from([0xff, 0x00, 0x1b]))
  await first.shows('hello \xff'.slice(0, 6))
  await until(async () => first.bytes().length === 9 && second.bytes().length === 9, 'nine bytes for both')
  assert.deepEqual(first.bytes(), Buffer.from([...Buffer.from('hello '), 0xff, 0x00, 0x1b]))
  assert.deepEqual(second.bytes(), first.bytes())
  assert.equal((await list(app))[0]?.viewers, 2)

  first.close()
  await first.closed
  app.engine.command({ project: project.id, id })!.print('while away')
  const again = await connect(t, app, `${path}?after=9`)
  assert.equal((await again.frame('start')).seq, 9)
  await again.shows('while away')
  assert.equal(again.bytes().toString(), 'while away')
  const whole = await connect(t, app, path)
  await whole.shows('while away')
  assert.equal(whole.bytes().length, 19)
})

test('what is not kept any more is told as a gap, and an offset that never was is refused', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const command = app.engine.command({ project: project.id, id })!
  for (let at = 0; at < 12; at += 1) command.print(Buffer.alloc(100_000, 97 + at))
  const { first, end } = command.state.output
  assert.ok(first > 0)
  const late = await connect(t, app, `/projects/shop/terminals/${id}/ws?after=5`)
  assert.equal((await late.frame('start')).seq, 5)
  const gap = await late.frame('gap')
  assert.deepEqual({ seq: gap.seq, bytes: gap.bytes }, { seq: first, bytes: first - 5 })
  await until(async () => late.bytes().length === end - first, 'all that is kept')
  const ahead = await connect(t, app, `/projects/shop/terminals/${id}/ws?after=${end + 1}`)
  assert.equal((await ahead.frame('error')).problem.code, 'too_old')
  assert.equal(await ahead.closed, 4410)
})

test('the last size that anybody set holds, and the others are told', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const path = `/projects/shop/terminals/${id}/ws`
  const first = await connect(t, app, path)
  await first.frame('start')
  const second = await connect(t, app, `${path}?cols=100&rows=30`)
  assert.equal((await second.frame('start')).terminal.cols, 100)
  assert.equal((await first.frame('status')).terminal.cols, 100)
  first.send({ type: 'resize', cols: 90, rows: 20 })
  const told = await second.frame('status')
  assert.deepEqual([told.terminal.cols, told.terminal.rows], [90, 20])
  assert.deepEqual(app.engine.command({ project: project.id, id })!.state.size, { cols: 90, rows: 20 })
  first.send({ type: 'resize', cols: 0, rows: 20 })
  assert.equal((await first.frame('error')).problem.code, 'invalid_request')
  assert.equal(await first.closed, 4400)
})

test('one that ends says how, stays listed, and the audit log tells that nobody closed it', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const viewer = await connect(t, app, `/projects/shop/terminals/${id}/ws`)
  await viewer.frame('start')
  const command = app.engine.command({ project: project.id, id })!
  command.print('bye\n')
  command.finish({ code: 3 })
  const exit = await viewer.frame('exit')
  assert.deepEqual([exit.code, exit.signal, exit.seq], [3, null, 4])
  assert.equal(await viewer.closed, 1000)
  const [ended] = await list(app)
  assert.deepEqual([ended?.state, ended?.exitCode, ended?.cause], ['ended', 3, 'exited'])
  const [entry] = await audit(app, 'terminal.close')
  assert.equal(entry?.actor, 'system')
  assert.equal(entry?.target, 'shop')
  assert.deepEqual((entry!.changes as { after: object }).after, { cause: 'exited' })
  const late = await connect(t, app, `/projects/shop/terminals/${id}/ws`)
  await late.shows('bye')
  assert.equal((await late.frame('exit')).code, 3)
})

test('one that nobody looks at is found to have ended too', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  app.engine.command({ project: project.id, id })!.finish({ signal: 'SIGHUP' }, 'idle')
  await until(async () => (await audit(app, 'terminal.close')).length === 1, 'the end to be noticed')
  assert.equal((await list(app))[0]?.cause, 'idle')
  const { items } = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=terminal.close')).body
  assert.deepEqual((items[0]!.changes as { after: object }).after, { cause: 'idle' })
})

test('ending it ends what runs in it, and forgets it', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const viewer = await connect(t, app, `/projects/shop/terminals/${id}/ws`)
  await viewer.frame('start')
  const ended = await app.ask('DELETE', `/projects/shop/terminals/${id}`)
  assert.equal(ended.status, 204)
  assert.equal((await viewer.frame('exit')).signal, 'SIGHUP')
  assert.equal(app.engine.command({ project: project.id, id }), null)
  assert.equal((await app.ask('GET', `/projects/shop/terminals/${id}`)).status, 404)
  const entries = await audit(app, 'terminal.close')
  assert.equal(entries.length, 1)
  assert.match(entries[0]!.actor, /^ada/)
  const opened = await audit(app, 'terminal.open')
  assert.deepEqual((opened[0]!.changes as { after: { id: string } }).after.id, id)
})

test('a viewer ends it with {"type":"cancel"}, and the audit log names the viewer', async (t) => {
  const { app } = await withProject(t)
  const { id } = (await open(app)).body
  const viewer = await connect(t, app, `/projects/shop/terminals/${id}/ws`)
  await viewer.frame('start')
  viewer.send({ type: 'cancel' })
  await viewer.frame('exit')
  assert.equal((await list(app))[0]?.cause, 'cancelled')
  const entries = await audit(app, 'terminal.close')
  assert.deepEqual(
    entries.map(({ actor }) => actor.slice(0, 3)),
    ['ada'],
  )
})

test('no more than sixteen are open in a project', async (t) => {
  const { app } = await withProject(t)
  const opened = await Promise.all(Array.from({ length: 20 }, () => open(app)))
  assert.deepEqual(opened.map(({ status }) => status).sort(), [
    ...Array.from({ length: 16 }, () => 201),
    ...Array.from({ length: 4 }, () => 409),
  ])
  const refused = opened.find(({ status }) => status === 409)!.body as unknown as ProblemAnswer
  assert.match(refused.detail, /16 terminals/)
  const running = (await list(app)).find((one) => one.state === 'running')!
  await app.ask('DELETE', `/projects/shop/terminals/${running.id}`)
  assert.equal((await open(app)).status, 201)
})

test('a program that there is not, a runtime that there is not, and one that cannot be started are refused', async (t) => {
  const { app } = await withProject(t)
  const refusal = async (body: object) => {
    const { status, body: problem } = await app.ask<ProblemAnswer>('POST', '/projects/shop/terminals', body)
    return { status, code: problem.code, detail: problem.detail, hint: problem.hint }
  }
  assert.equal((await refusal({ command: ['no-such-program'] })).code, 'program_not_found')
  const unknown = await refusal({ workload: 'rust' })
  assert.equal(unknown.status, 404)
  assert.match(String(unknown.hint), /"node"/)
  app.engine.nextCommand({ error: new EngineError('io_failed', 'The folder is gone.', { hint: 'Look.' }) })
  assert.equal((await refusal({})).detail, 'The folder is gone.')
  assert.deepEqual(await list(app), [])
  const entries = await audit(app, 'terminal.close')
  assert.deepEqual(
    entries.map(({ outcome }) => outcome),
    ['failure'],
  )
})

test('terminals go on while the service starts again, and it goes on with them', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const gone = (await open(app)).body.id
  const first = await connect(t, app, `/projects/shop/terminals/${id}/ws`)
  await first.frame('start')
  first.send(Buffer.from('before '))
  await first.shows('before ')
  const { engine } = app
  const again = await app.reopen()
  assert.ok(await first.closed)
  engine.machine.commands.get(`${project.id}/${id}`)!.print('meanwhile')
  engine.machine.commands.delete(`${project.id}/${gone}`)
  const second = await connect(t, again, `/projects/shop/terminals/${id}/ws?after=7`)
  await second.shows('meanwhile')
  assert.equal(second.bytes().toString(), 'meanwhile')
  await until(async () => (await list(again)).some((one) => one.id === gone && one.cause === 'lost'), 'the lost one')
})

test('opening and connecting can be one step, and who may only read may not', async (t) => {
  const { app, project } = await withProject(t)
  const peer = await connect(t, app, '/projects/shop/terminal/ws?cols=100&rows=30')
  const { terminal } = await peer.frame('start')
  assert.deepEqual([terminal.cols, terminal.rows, terminal.state], [100, 30, 'running'])
  peer.send(Buffer.from('x'))
  await peer.shows('x')
  assert.equal(app.engine.command({ project: project.id, id: terminal.id })!.input.toString(), 'x')
  const reader = await app.as('read')
  assert.equal((await reader('GET', '/projects/shop/terminals')).status, 403)
  assert.equal((await reader('POST', '/projects/shop/terminals', {})).status, 403)
})

test('deleting the project ends its terminals', async (t) => {
  const { app, project } = await withProject(t)
  const { id } = (await open(app)).body
  const deleted = await app.ask<{ state: string }>('DELETE', '/projects/shop?confirm=shop&wait=30')
  assert.equal(deleted.body.state, 'succeeded', JSON.stringify(deleted.body))
  assert.equal(app.engine.command({ project: project.id, id }), null)
  assert.deepEqual(await app.store.terminals.all(), [])
  const [closed] = await app.store.audit.list({ limit: 1, action: 'terminal.close' })
  assert.deepEqual(closed?.changes, {
    before: { id, workload: 'node', title: 'bash' },
    after: { cause: 'cancelled' },
  })
  assert.deepEqual(app.errors, [])
})
