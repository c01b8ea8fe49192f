import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { apiPrefix, operationList } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { type Called, openTestApp } from './app-support.ts'

test('a token that is restricted to projects never hears of another one: no id, no slug, no name, no path', (t) =>
  hearsNothing(t, async ({ call }, headers) => {
    const made = await call('createToken', { body: { name: 'ci', scope: 'admin', projects: ['own'] }, headers })
    return { authorization: `Bearer ${made.json.value}` }
  }))

test('a person who comes only to some projects never hears of another one either', (t) =>
  hearsNothing(t, async ({ call, session }, headers) => {
    const projectRoles = [{ project: 'own', role: 'admin' }]
    const body = { username: 'grace', password: 'long enough to be', projectRoles }
    assert.equal((await call('createUser', { body, headers })).status, 201)
    const restricted = await session('grace', body.password)
    // A token for a project that is closed is refused like one for a project that there is not.
    const give = (project: string) =>
      call('createToken', { body: { name: 'x', scope: 'read', projects: [project] }, headers: restricted })
    const [closed, none] = [await give('zebra-company'), await give('zebra-nowhere')]
    assert.deepEqual([closed.status, closed.json.code], [422, 'validation_failed'])
    assert.equal(closed.json.detail, none.json.detail.replace('zebra-nowhere', 'zebra-company'))
    return restricted
  }))

/** These would end the session that asks. */
const ending = ['logout', 'logoutOidc', 'endSession', 'endOtherSessions']

type TestApp = Awaited<ReturnType<typeof openTestApp>>

async function hearsNothing(
  t: TestContext,
  restrict: (opened: TestApp, headers: Record<string, string>) => Promise<Record<string, string>>,
): Promise<void> {
  const opened = await openTestApp(t)
  const { call, session, app, home } = opened
  const headers = await session()
  const wait = { wait: '10' }
  const hidden = { name: 'Zebra & Söhne', slug: 'zebra-company' }
  const own = (await call('createProject', { body: { name: 'Own' }, query: wait, headers })).json
  const other = (
    await call('createProject', {
      body: { ...hidden, databases: { zdb: { type: 'postgresql' } }, env: { ZVAR: { value: 'z-value' } } },
      query: wait,
      headers,
    })
  ).json
  assert.equal(other.slug, hidden.slug)
  for (const id of ['stopProject', 'startProject', 'restartProject']) {
    await call(id, { params: { id: other.id }, query: wait, headers })
  }
  const { items } = (await call('listOperations', { query: { project: other.id }, headers })).json
  assert.ok(items.length >= 2)
  const names = [other.id, hidden.slug, 'Zebra', 'Söhne', 'zdb', 'ZVAR', 'z-value', items[0].id]

  const restricted = await restrict(opened, headers)
  const answers: { what: string; text: string }[] = []
  const ask = async (
    id: string,
    params: Record<string, string>,
    query: Record<string, string> = {},
    body?: unknown,
  ) => {
    const answer: Called = await call(id, { params, query, body, headers: restricted })
    answers.push({
      what: `${id} ${JSON.stringify([params, query])}`,
      text: `${JSON.stringify(answer.headers)}${answer.body}`,
    })
    return answer
  }
  for (const { id, path, stream, method } of operationList.filter((one) => one.stream === undefined)) {
    if (id === 'deleteProject' || ending.includes(id)) continue
    await ask(id, { id: own.id, db: 'main', name: 'A', op: items[0].id }, {}, method === 'GET' ? undefined : {})
    // Where the other project is asked for, its name is the caller's own word; what else is told must not be.
    if (path.includes('{id}')) {
      const answer = await ask(id, { id: 'prj_guess', db: 'zd', name: 'ZV', op: 'op_x' })
      assert.equal(answer.json.code, 'project_forbidden', id)
    }
    assert.equal(stream, undefined)
  }
  // Two guesses that differ only in whether the project exists are answered alike.
  for (const [there, nowhere] of [
    [hidden.slug, 'zebra-nowhere'],
    [other.id, 'prj_00000000000000000000000000'],
  ] as const) {
    const [one, two] = [
      await call('getProject', { params: { id: there }, headers: restricted }),
      await call('getProject', { params: { id: nowhere }, headers: restricted }),
    ]
    const plain = ({ json }: Called, ref: string) => JSON.stringify({ ...json, requestId: '' }).replaceAll(ref, 'REF')
    assert.equal(plain(one, there), plain(two, nowhere))
  }
  assert.deepEqual(
    (await ask('listProjects', {})).json.items.map(({ slug }: { slug: string }) => slug),
    ['own'],
  )
  for (const query of [{ q: 'zeb' }, { state: 'running' }, { limit: '1' }]) await ask('listProjects', {}, query)
  for (const query of [{}, { project: other.id }, { project: hidden.slug }, { limit: '1' }]) {
    const answer = await ask('listOperations', {}, query as Record<string, string>)
    if (answer.status === 200) {
      assert.ok(
        answer.json.items.every((one: { project: string }) => one.project === own.id),
        answer.body,
      )
    }
  }
  const [known, unknown] = [
    await ask('getOperation', { op: items[0].id }),
    await ask('getOperation', { op: 'op_none' }),
  ]
  assert.deepEqual([known.status, known.json.code], [unknown.status, unknown.json.code])
  assert.equal((await ask('cancelOperation', { op: items[0].id })).status, 403)

  const address = await app.http.listen({ host: '127.0.0.1', port: 0 })
  const socket = new WebSocket(`${address.replace('http', 'ws')}${apiPrefix}/events/ws?after=0`, {
    headers: restricted,
  })
  let frames = ''
  socket.on('message', (data) => {
    frames += String(data)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  await call('restartProject', { params: { id: other.id }, query: wait, headers })
  await call('putProjectEnv', { params: { id: 'own', name: 'LAST' }, body: { value: 'x' }, query: wait, headers })
  const deadline = Date.now() + 5000
  while (!/project\.changed/.test(frames) && Date.now() < deadline) await new Promise((next) => setTimeout(next, 20))
  socket.terminate()
  assert.match(frames, new RegExp(own.id))
  answers.push({ what: 'the events', text: frames })

  for (const { what, text } of answers) {
    // A question's own words come back in its refusal.
    const asked = names.filter((name) => what.includes(name))
    for (const name of names.filter((one) => !asked.includes(one))) {
      assert.ok(!text.includes(name), `"${name}" in ${what}: ${text}`)
    }
    assert.ok(!text.includes(`${home}/projects/zebra`), what)
  }
}

test('a refusal is found under the project that it was about', async (t) => {
  const { call, session, app } = await openTestApp(t)
  const headers = await session()
  const { id } = (await call('createProject', { body: { name: 'Shop' }, query: { wait: '10' }, headers })).json
  const { value } = (await call('createToken', { body: { name: 'reader', scope: 'read' }, headers })).json
  await call('stopProject', { params: { id: 'shop' }, headers: { authorization: `Bearer ${value}` } })
  const [entry] = await app.store.audit.list({ limit: 5, project: id, outcome: 'denied' })
  assert.deepEqual([entry?.action, entry?.target], ['project.stop', 'shop'])
})

test('the last administrator’s removal, a forbidden folder and endless trying of passwords are recorded as refused', async (t) => {
  const { call, session, app } = await openTestApp(t)
  const headers = await session()
  const { userId } = (await call('getMe', { headers })).json
  await call('deleteUser', { params: { uid: userId }, headers })
  await call('createProject', { body: { name: 'Etc', path: '/etc' }, headers })
  for (let turn = 0; turn < 7; turn++) await call('login', { body: { username: 'ada', password: 'wrong' } })
  const denied = await app.store.audit.list({ limit: 50, outcome: 'denied' })
  const reasons = denied.map(
    ({ action, changes }) => `${action} ${(changes as { reason?: string } | null)?.reason ?? ''}`,
  )
  assert.ok(reasons.includes('user.delete last_admin'), String(reasons))
  assert.ok(reasons.includes('project.create path_forbidden'), String(reasons))
  assert.equal(reasons.filter((reason) => reason === 'auth.login throttled').length, 2)
})
