import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AuditEntry } from '@stackquay/contract'
import { assistant, assistantOver, listen, type Major, tokenOf } from './mcp-support.ts'
import { openTestApp, type TestApp } from './projects-support.ts'

const canary = 'canary-"env"-4711'

/** A service that listens, with a project of two canaries: a secret variable and the password of a database. */
async function withShop(
  t: Pick<TestContext, 'after'>,
): Promise<{ app: TestApp; url: string; id: string; canaries: string[] }> {
  const app = await openTestApp(t)
  app.engine.machine.files.has = () => true
  const made = await app.ask('POST', '/projects?wait=30', {
    name: 'Shop',
    node: {},
    databases: { main: { type: 'postgresql' } },
    env: { API_KEY: { value: canary, secret: true } },
    start: true,
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  await app.ask('POST', '/projects/shop/stop?wait=30')
  const { status, body } = await app.ask<{ password: string }>('GET', '/projects/shop/databases/main/credentials')
  assert.equal(status, 200, JSON.stringify(body))
  return { app, url: await listen(app), id: made.body.id, canaries: [canary, body.password] }
}

const denials = async ({ ask }: TestApp, action: string) =>
  (await ask<{ items: AuditEntry[] }>('GET', `/audit?outcome=denied&action=${action}`)).body.items

for (const major of [1, 2] as const satisfies readonly Major[]) {
  test(`the official client of major ${major} creates, starts, tests, reads, changes and deletes by plan, and learns no secret`, async (t) => {
    const { app, url, id, canaries } = await withShop(t)
    const { value, name } = await tokenOf(app)
    const { call, client, heard } = await assistant(t, url, value, { major })
    assert.equal((await client.listTools()).tools.length, 20)

    const created = await call('create_project', { name: 'Second', settings: { env: { A: 'b' } }, start: false })
    assert.equal(created.json.slug, 'second', created.text)
    assert.equal((await call('list_projects')).json.items.length, 2)

    const started = await call('control_project', { project: 'shop', action: 'start' })
    assert.equal(started.json.state, 'succeeded', started.text)
    app.engine.print(
      { project: id, workload: 'node' },
      `[error] connecting with ${canary} as ${JSON.stringify(canaries)}`,
    )
    const logs = await call('read_logs', { project: 'shop', level: 'error' })
    assert.match(logs.text, /node \[error\] connecting with \[secret\] as \["\[secret\]","\[secret\]"\]/)
    const diagnosis = await call('diagnose_project', { project: 'shop' })
    assert.equal(diagnosis.json.status.state, 'running')
    assert.equal(diagnosis.json.errorLines.length, 1)

    await writeFile(
      join(app.folder, 'projects/shop/package.json'),
      JSON.stringify({ scripts: { test: 'node --test' } }),
    )
    const { suites } = (await call('read_project', { project: 'shop', what: 'tests' })).json
    app.engine.nextCommand({ output: [{ text: `${'x'.repeat(7000)} ${canary}\nnot ok\n` }], exit: { code: 1 } })
    const run = await call('run_tests', { project: 'shop', suite: suites[0].id })
    assert.equal(run.json.state, 'failed', run.text)
    assert.match(run.json.output, /\[secret\]\nnot ok\n$/)
    app.engine.nextCommand({ output: [{ text: `${canaries.join(' ')}\n` }], exit: { code: 0 } })
    const exec = await call('exec_command', { project: 'shop', argv: ['printenv'] })
    assert.equal(exec.text, 'Exit code 0.\n[secret] [secret]\n')
    const quoted = await call('run_tests', { project: 'shop', suite: canary })
    assert.deepEqual([quoted.isError, quoted.json.detail], [true, 'The project "shop" has no test suite "[secret]".'])

    const changed = await call('change_project', { project: 'shop', changes: { env: { LEVEL: 'debug' } } })
    assert.equal(changed.json.env.LEVEL.value, 'debug', changed.text)
    const preview = await call('change_project', {
      project: 'shop',
      changes: { env: { LEVEL: 'info' } },
      preview: true,
    })
    assert.equal(preview.json.foreseen.changes[0].field, 'env.LEVEL', preview.text)
    const removal = await call('change_project', { project: 'shop', changes: { env: { LEVEL: null } } })
    assert.match(removal.json.plan, /^plan_/)
    assert.equal((await app.ask('GET', '/projects/shop')).body.env.LEVEL !== undefined, true, 'nothing is done yet')
    assert.equal((await call('confirm', { plan: removal.json.plan })).json.env.LEVEL, undefined)
    assert.equal((await app.ask('GET', '/projects/shop')).body.env.LEVEL, undefined)
    const stale = await call('confirm', { plan: preview.json.plan })
    assert.equal(stale.json.code, 'plan_stale', 'the project is another by now')

    const plan = await call('delete_project', { project: 'shop', data: 'delete' })
    assert.deepEqual(plan.json.foreseen.deletesData, ['postgresql-main'])
    assert.equal(plan.json.does, 'Delete a project: shop (with its data)')
    assert.equal((await app.ask('GET', '/projects/shop')).status, 200)
    assert.equal((await call('confirm', { plan: 'plan_made_up' })).json.code, 'plan_unknown')
    assert.equal((await call('confirm', { plan: plan.json.plan })).json.state, 'succeeded')
    assert.equal((await app.ask('GET', '/projects/shop')).status, 404)
    assert.equal((await call('confirm', { plan: plan.json.plan })).json.code, 'plan_unknown', 'once')

    const entries = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?limit=100')).body.items.filter(
      ({ actor }) => actor === `ada (token: ${name})`,
    )
    const sources = new Set(entries.map(({ source }) => source))
    // What the service carries out for somebody later says whose it was, and that it was the service.
    sources.delete('system')
    assert.deepEqual([...sources], ['mcp'])
    const actions = new Set(entries.map(({ action }) => action))
    for (const action of [
      'project.create',
      'project.start',
      'test.run',
      'exec.run',
      'project.update',
      'project.delete',
      'mcp.confirm',
    ])
      assert.ok(actions.has(action), action)
    const all = heard.join('')
    assert.ok(all.includes('[secret]'))
    for (const secret of [...canaries, ...canaries.map((text) => JSON.stringify(text).slice(1, -1))])
      assert.equal(all.includes(secret), false, 'a secret was answered')
    assert.deepEqual(app.errors, [])
  })
}

test('a person who is asked decides, with clients of both majors', async (t) => {
  const { app, url } = await withShop(t)
  for (const major of [1, 2] as const) {
    const said: string[] = []
    let answer = false
    const person = (message: string) => {
      said.push(message)
      return answer
    }
    const { call } = await assistant(t, url, (await tokenOf(app)).value, { major, person })
    const planOfRemoval = async () =>
      (await call('change_project', { project: 'shop', changes: { env: { API_KEY: null } } })).json.plan
    const declined = await planOfRemoval()
    assert.equal((await call('confirm', { plan: declined })).json.code, 'declined')
    assert.equal((await call('confirm', { plan: declined })).json.code, 'plan_unknown', 'a no uses it up')
    assert.match(said[0]!, /^Change runtimes, services, databases, variables: shop\. Carry it out\?$/)
    answer = true
    const { json, text } = await call('confirm', { plan: await planOfRemoval() })
    assert.equal(json.slug, 'shop', text)
    await app.ask('PATCH', '/projects/shop?wait=30', { env: { API_KEY: { value: canary, secret: true } } })
  }
})

test('what a token may not do is refused before any plan, and stands in the audit log', async (t) => {
  const { app, url, id } = await withShop(t)
  await app.ask('POST', '/projects?wait=30', { name: 'Other', start: false })
  const restricted = await assistant(t, url, (await tokenOf(app, 'admin', [id])).value)
  assert.deepEqual(
    (await restricted.call('list_projects')).json.items.map(({ slug }: { slug: string }) => slug),
    ['shop'],
  )
  assert.equal(
    (await restricted.call('read_project', { project: 'other', what: 'state' })).json.code,
    'project_forbidden',
  )
  assert.equal((await restricted.call('delete_project', { project: 'other' })).json.code, 'project_forbidden')
  assert.equal((await restricted.call('create_project', { name: 'Third' })).json.code, 'token_restricted')
  assert.doesNotMatch(JSON.stringify(await restricted.client.listResources()), /other/)

  const reader = await assistant(t, url, (await tokenOf(app, 'read')).value)
  const planless = await reader.call('change_backups', { project: 'shop', action: 'delete_backup', backup: 'bak_1' })
  assert.equal(planless.json.code, 'scope_insufficient', planless.text)
  assert.equal((await reader.call('delete_project', { project: 'shop' })).json.code, 'scope_insufficient')
  assert.equal(
    (await reader.call('control_project', { project: 'shop', action: 'start' })).json.code,
    'scope_insufficient',
  )
  assert.equal((await reader.call('exec_command', { project: 'shop', argv: ['id'] })).json.code, 'scope_insufficient')
  const plain = await reader.call('nothing_like_it')
  assert.deepEqual([plain.isError, plain.json.code], [true, 'invalid_arguments'])

  const mine = await assistant(t, url, (await tokenOf(app)).value)
  const { plan } = (await mine.call('delete_project', { project: 'other' })).json
  assert.equal((await reader.call('confirm', { plan })).json.code, 'plan_unknown', 'of another token')
  assert.equal((await app.ask('GET', '/projects/other')).status, 200)

  for (const [action, reason] of [
    ['project.delete', 'scope_insufficient'],
    ['backup.delete', 'scope_insufficient'],
    ['exec.run', 'scope_insufficient'],
    ['project.create', 'token_restricted'],
    ['mcp.confirm', 'plan_unknown'],
  ] as const) {
    const found = await denials(app, action)
    assert.ok(
      found.some(({ source, changes }) => source === 'mcp' && (changes as { reason: string }).reason === reason),
      `${action} ${JSON.stringify(found)}`,
    )
  }
})

test('a name in a path is no way to another operation', async (t) => {
  const { app, url } = await withShop(t)
  const { call } = await assistant(t, url, (await tokenOf(app)).value)
  for (const name of ['..', '.', '', '../tokens', '%2e%2e', 'shop/../..'])
    assert.equal((await call('read_project', { project: name, what: 'state' })).isError, true, name)
  assert.deepEqual(app.errors, [])
})

test('actions that the service marks as destructive take two calls, others one', async (t) => {
  const { app, url } = await withShop(t)
  const made = await app.ask('POST', '/projects?wait=30', { name: 'Site', python: { preset: 'django' }, start: false })
  await writeFile(join(made.body.path, 'manage.py'), 'import django\n')
  await writeFile(join(made.body.path, 'requirements.txt'), 'django\n')
  const { call } = await assistant(t, url, (await tokenOf(app)).value)
  const { items } = (await call('read_project', { project: 'site', what: 'actions' })).json
  const idOf = (is: boolean) => items.find(({ destructive }: { destructive: boolean }) => destructive === is).id
  app.engine.nextCommand({ output: [{ text: 'hello\n' }], exit: { code: 0 } })
  assert.equal((await call('run_action', { project: 'site', action: idOf(false) })).json.output, 'hello\n')
  const planned = await call('run_action', { project: 'site', action: idOf(true) })
  assert.match(planned.json.plan, /^plan_/, planned.text)
  const { body } = await app.ask<{ items: unknown[] }>('GET', '/projects/site/runs')
  assert.equal(body.items.length, 1, 'nothing ran yet')
  app.engine.nextCommand({ output: [{ text: 'flushed\n' }], exit: { code: 0 } })
  assert.equal((await call('confirm', { plan: planned.json.plan })).json.output, 'flushed\n')
})

test('over standard input and output, stq mcp is the same service to clients of both majors', async (t) => {
  const { app, url } = await withShop(t)
  const { value, name } = await tokenOf(app, 'operate')
  const stq = fileURLToPath(new URL('../../cli/bin/stq', import.meta.url))
  const env = { PATH: process.env.PATH!, HOME: '/nonexistent', STACKQUAY_URL: url, STACKQUAY_TOKEN: value }
  for (const major of [1, 2] as const) {
    const { client, call } = await assistantOver(t, major, { command: process.execPath, args: [stq, 'mcp'], env })
    assert.equal((await client.listTools()).tools.length, 20)
    const started = await call('control_project', { project: 'shop', action: 'restart' })
    assert.equal(started.json.state, 'succeeded', started.text)
    assert.equal((await call('delete_project', { project: 'shop' })).json.code, 'scope_insufficient')
  }
  const { items } = (await app.ask<{ items: AuditEntry[] }>('GET', '/audit?action=project.restart')).body
  const mine = items.filter(({ actor, source }) => actor === `ada (token: ${name})` && source !== 'system')
  assert.deepEqual([...new Set(mine.map(({ source }) => source))], ['mcp'])
  assert.match(mine[0]?.userAgent ?? '', /^stq-mcp\//)
})
