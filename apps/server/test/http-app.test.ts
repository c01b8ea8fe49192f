import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { operation, operationList, ProblemError, problemKinds } from '@stackquay/contract'
import { ChangedError, TakenError } from '@stackquay/store'
import { bindOperations } from '../src/http/bind.ts'
import { ifMatchHolds } from '../src/http/preconditions.ts'
import { requireProject, requireScope } from '../src/http/rights.ts'
import { auditOf, bearer, openTestHttpApp } from './http-support.ts'

test('every answer carries a request id, no-store and the security headers, whatever went wrong', async (t) => {
  const http = await openTestHttpApp(t)
  for (const url of ['/api/v1/health', '/api/v1/projects', '/api/v1/nowhere', '/%zz', '/api/docs']) {
    const { headers } = await http.app.inject({ url })
    assert.match(String(headers['x-request-id']), /^req_[0-9a-z]+$/, url)
    assert.equal(headers['cache-control'], 'no-store')
    const policy =
      url === '/api/docs'
        ? /^default-src 'self'; .*frame-ancestors 'none'/
        : /^default-src 'none'; frame-ancestors 'none'$/
    assert.match(String(headers['content-security-policy']), policy, url)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['x-frame-options'], 'DENY')
  }
})

test('a sane request id is taken over into answer and problem, another one is replaced', async (t) => {
  const http = await openTestHttpApp(t)
  const ask = (id: string) => http.app.inject({ url: '/api/v1/projects', headers: { 'x-request-id': id } })
  const taken = await ask('trace-1:abc')
  assert.equal(taken.headers['x-request-id'], 'trace-1:abc')
  assert.equal(taken.json().requestId, 'trace-1:abc')
  for (const strange of ['a b', 'x'.repeat(101), '<script>'])
    assert.notEqual((await ask(strange)).headers['x-request-id'], strange)
})

test('a problem has all members of its catalogue entry', async (t) => {
  const http = await openTestHttpApp(t)
  const answer = await http.app.inject({ url: '/api/v1/projects?limit=5' })
  assert.equal(answer.headers['content-type'], 'application/problem+json')
  const { requestId, detail, ...rest } = answer.json()
  assert.ok(requestId && detail)
  const { status, title, hint, retryable } = problemKinds.unauthorized
  assert.deepEqual(rest, {
    type: 'urn:stackquay:problem:unauthorized',
    title,
    status,
    instance: '/api/v1/projects',
    code: 'unauthorized',
    hint,
    retryable,
  })
})

test('all fields that are wrong are named at once, with the nearest known name', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const answer = await http.app.inject({
    method: 'PATCH',
    url: '/api/v1/projects/shop',
    headers: bearer(value),
    payload: {
      nam: 'x',
      node: { enabld: true },
      databases: { main: { exposePrt: true } },
      healthCheck: { timeoutSeconds: 'soon' },
      env: { 'a b': '1', GOOD: 5 },
    },
  })
  assert.equal(answer.statusCode, 422, answer.body)
  const { code, errors } = answer.json()
  assert.equal(code, 'validation_failed')
  const byPointer = Object.fromEntries(
    errors.map((error: { pointer: string; detail: string; code: string }) => [error.pointer, error]),
  )
  assert.deepEqual(Object.keys(byPointer).sort(), [
    '/databases/main/exposePrt',
    '/env/GOOD',
    '/env/a b',
    '/healthCheck/timeoutSeconds',
    '/nam',
    '/node/enabld',
  ])
  assert.match(byPointer['/databases/main/exposePrt'].detail, /Did you mean "exposePort"\?/)
  assert.match(byPointer['/node/enabld'].detail, /Did you mean "enabled"\?/)
  assert.match(byPointer['/nam'].detail, /Did you mean "name"\?/)
  assert.equal(byPointer['/env/GOOD'].detail, 'Expected one of: string, object, null.')
  assert.equal(byPointer['/nam'].code, 'unknown_field')
})

test('a wrong query is a 400 that names the parameter, and an unknown one is refused too', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const answer = await http.app.inject({
    url: '/api/v1/projects?limit=many&stat=running&limt=1',
    headers: bearer(value),
  })
  assert.equal(answer.statusCode, 400)
  const pointers = answer.json().errors.map(({ pointer }: { pointer: string }) => pointer)
  assert.deepEqual(pointers.sort(), ['?limit', '?limt', '?stat'])
  assert.equal((await http.app.inject({ url: '/api/v1/runtimes?x=1', headers: bearer(value) })).statusCode, 400)
})

test('what is parsed reaches the handler: parameters decoded, query converted, body with defaults', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  await http.app.inject({ url: '/api/v1/projects?limit=999&q=a%20b', headers: bearer(value) })
  await http.app.inject({
    method: 'POST',
    url: '/api/v1/projects/my%2Dshop/start?dryRun&wait=999',
    headers: bearer(value),
  })
  assert.deepEqual(
    http.calls.map(({ input }) => input),
    [
      { params: undefined, query: { limit: 200, q: 'a b' }, body: undefined },
      { params: { id: 'my-shop' }, query: { dryRun: true, wait: 300 }, body: undefined },
    ],
  )
})

test('bodies that cannot be read are refused with the status that says why', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const patch = (payload: string | Buffer, type?: string) =>
    http.app.inject({
      method: 'PATCH',
      url: '/api/v1/projects/shop',
      headers: { ...bearer(value), ...(type === undefined ? {} : { 'content-type': type }) },
      payload,
    })
  const codeOf = async (...given: Parameters<typeof patch>) => (await patch(...given)).json().code
  assert.equal(await codeOf('{"name":', 'application/json'), 'invalid_json')
  assert.equal(await codeOf(Buffer.from([0x7b, 0xff, 0x7d]), 'application/json'), 'invalid_json')
  assert.equal(await codeOf('{}', 'text/plain'), 'unsupported_media_type')
  assert.equal(await codeOf('{}', 'application/json; charset=latin1'), 'unsupported_media_type')
  assert.equal(await codeOf('{}'), 'unsupported_media_type')
  assert.equal(await codeOf(JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), 'application/json'), 'too_large')
  assert.equal(await codeOf('{"env":{"__proto__":"x"}}', 'application/json'), 'validation_failed')
  assert.equal(await codeOf('[]', 'application/json'), 'validation_failed')
  assert.equal(await codeOf('', 'application/json'), 'validation_failed')
  assert.equal((await patch('{"name":"Shop"}', 'application/merge-patch+json')).statusCode, 200)
  assert.equal((await patch('\ufeff{"name":"Shop"}', 'application/json; charset=UTF-8')).statusCode, 200)
})

test('nothing of a body is read before the caller is known: a stranger’s broken megabytes answer 401', async (t) => {
  const http = await openTestHttpApp(t)
  const answer = await http.app.inject({
    method: 'PATCH',
    url: '/api/v1/projects/shop',
    headers: { 'content-type': 'application/json' },
    payload: 'x'.repeat(2 * 1024 * 1024),
  })
  assert.equal(answer.statusCode, 401)
})

test('an empty body stands for an absent one where the body is optional', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token()
  const headers = { ...bearer(value), 'content-type': 'application/json' }
  const answer = await http.app.inject({ method: 'POST', url: '/api/v1/projects/shop/start', headers, payload: '' })
  assert.equal(answer.statusCode, 200, answer.body)
})

test('an unknown path is 404 and a known one with another method 405, with what is allowed', async (t) => {
  const http = await openTestHttpApp(t)
  assert.equal((await http.app.inject({ url: '/api/v1/nowhere' })).json().code, 'not_found')
  const wrong = await http.app.inject({ method: 'DELETE', url: '/api/v1/projects' })
  assert.equal(wrong.json().code, 'method_not_allowed')
  assert.equal(wrong.headers.allow, 'GET, HEAD, POST')
  const stream = await http.app.inject({ method: 'HEAD', url: '/api/v1/events' })
  assert.deepEqual([stream.statusCode, stream.headers.allow], [405, 'GET'])
})

test('HEAD answers like GET without the body', async (t) => {
  const http = await openTestHttpApp(t)
  const [get, head] = [
    await http.app.inject({ url: '/api/v1/health' }),
    await http.app.inject({ method: 'HEAD', url: '/api/v1/health' }),
  ]
  assert.equal(head.statusCode, 200)
  assert.equal(head.headers['content-length'], get.headers['content-length'])
  assert.equal(head.body, '')
})

test('ETags are strong and quoted; If-None-Match saves the body; If-Match reaches the handler', async (t) => {
  const seen: (string | null)[] = []
  const http = await openTestHttpApp(t, {
    handlers: {
      getProject: async (_input: unknown, { ifMatch }: { ifMatch: string | null }) => {
        seen.push(ifMatch)
        return { status: 200, json: '{"id":"x"}', etag: '7' }
      },
    },
  })
  const { value } = await http.token()
  const get = (headers: Record<string, string> = {}) =>
    http.app.inject({ url: '/api/v1/projects/x', headers: { ...bearer(value), ...headers } })
  const answer = await get()
  assert.equal(answer.headers.etag, '"7"')
  assert.equal(answer.body, '{"id":"x"}')
  for (const tag of ['"7"', 'W/"7"', '"6", "7"', '*'])
    assert.equal((await get({ 'if-none-match': tag })).statusCode, 304, tag)
  assert.equal((await get({ 'if-none-match': '"8"' })).statusCode, 200)
  seen.length = 0
  for (const tag of ['"7"', '*', '"6", "7"', 'W/"7"']) await get({ 'if-match': tag })
  assert.deepEqual(seen, ['7', '*', '6,7', 'W/"7"'])
  assert.deepEqual(
    seen.map((ifMatch) => ifMatchHolds(ifMatch, '7')),
    [true, true, true, false],
  )
  assert.ok(ifMatchHolds(null, '7'))
})

test('what handlers throw becomes its problem; what nobody foresaw says nothing of its inside', async (t) => {
  const thrown: Record<string, () => unknown> = {
    conflict: () => new TakenError('slug', 'prj_1'),
    precondition_failed: () => new ChangedError('x'),
    engine_cannot: () =>
      new ProblemError('engine_cannot', 'No limits here.', {
        extensions: { capability: 'limits' },
        headers: { 'x-extra': '1' },
      }),
    internal_error: () => new Error('password=hunter2'),
  }
  let next: () => unknown = () => undefined
  const http = await openTestHttpApp(t, {
    handlers: {
      getProject: async () => {
        throw next()
      },
    },
  })
  const { value } = await http.token()
  for (const [code, error] of Object.entries(thrown)) {
    next = error
    const answer = await http.app.inject({ url: '/api/v1/projects/x', headers: bearer(value) })
    assert.equal(answer.json().code, code)
    assert.ok(!answer.body.includes('hunter2'))
    if (code === 'engine_cannot')
      assert.deepEqual([answer.json().capability, answer.headers['x-extra']], ['limits', '1'])
  }
  assert.equal(http.errors.length, 1)
})

test('a need that only the handler sees is refused and recorded like one before it', async (t) => {
  const http = await openTestHttpApp(t, {
    handlers: {
      updateProject: async (_input: unknown, context: Parameters<typeof requireScope>[0]) => {
        requireScope(context, 'admin')
        return { status: 200, body: {} }
      },
      getOperation: async ({ params }: { params: { op: string } }, context: Parameters<typeof requireScope>[0]) => {
        requireProject(context, params.op === 'op_known' ? 'prj_other' : null, 'read')
        return { status: 200, body: {} }
      },
    },
  })
  const shop = await http.project('shop')
  const { value } = await http.token({ scope: 'operate', projects: [shop.id], name: 'ci' })
  const answer = await http.app.inject({
    method: 'PATCH',
    url: '/api/v1/projects/shop',
    headers: bearer(value),
    payload: {},
  })
  assert.equal(answer.json().code, 'scope_insufficient')
  assert.equal((await auditOf(http.store, 'denied', 1))[0]?.action, 'project.update')
  for (const op of ['op_known', 'op_none']) {
    assert.equal(
      (await http.app.inject({ url: `/api/v1/operations/${op}`, headers: bearer(value) })).json().code,
      'project_forbidden',
    )
  }
})

test('what the contract says raises the need is refused before the handler, on the parsed body, and recorded', async (t) => {
  const http = await openTestHttpApp(t)
  await http.project('shop')
  const operator = await http.token({ scope: 'operate', name: 'ci' })
  const patch = (payload: object, value: string) =>
    http.app.inject({ method: 'PATCH', url: '/api/v1/projects/shop', headers: bearer(value), payload })
  const deletes = { redis: { enabled: false, removeData: true } }
  const refused = await patch(deletes, operator.value)
  assert.deepEqual(
    [refused.statusCode, refused.json().code, refused.json().detail],
    [403, 'scope_insufficient', 'The token "ci" has scope operate; this needs scope admin.'],
  )
  assert.deepEqual(http.calls, [])
  assert.equal((await auditOf(http.store, 'denied', 1))[0]?.action, 'project.update')
  // A body that is not valid is told so first, and a text is no field.
  assert.equal((await patch({ redis: { ...deletes.redis, colour: 'red' } }, operator.value)).statusCode, 422)
  const text = { env: { NOTE: JSON.stringify(deletes) }, status: { removeData: true } }
  assert.equal((await patch(text, operator.value)).statusCode, 200)
  const admin = await http.token({ scope: 'admin', name: 'root' })
  assert.equal((await patch(deletes, admin.value)).statusCode, 200)
})

test('a flood of refused changes is counted instead of written out', async (t) => {
  const http = await openTestHttpApp(t)
  const { value } = await http.token({ scope: 'read' })
  for (let turn = 0; turn < 30; turn++)
    await http.app.inject({ method: 'POST', url: '/api/v1/projects/x/stop', headers: bearer(value) })
  await http.app.close()
  const entries = await http.store.audit.list({ limit: 100, outcome: 'denied' })
  assert.equal(entries.length, 6)
  assert.deepEqual(entries[0]?.changes, { reason: 'scope_insufficient', furtherRefusals: 25 })
})

test('the signal of a request aborts when its caller goes away', async (t) => {
  const aborted = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const http = await openTestHttpApp(t, {
    handlers: {
      getProject: async (_input: unknown, { signal }: { signal: AbortSignal }) => {
        signal.addEventListener('abort', () => aborted.resolve())
        reached.resolve()
        await aborted.promise
        return { status: 200, body: {} }
      },
    },
  })
  const { value } = await http.token()
  const address = await http.listen()
  const caller = new AbortController()
  const asked = fetch(`${address}/api/v1/projects/x`, { headers: bearer(value), signal: caller.signal }).catch(
    (error: Error) => error.name,
  )
  await reached.promise
  caller.abort()
  await aborted.promise
  assert.equal(await asked, 'AbortError')
})

test('what is no HTTP, or has too many headers, still gets a problem', async (t) => {
  const http = await openTestHttpApp(t)
  const { port } = new URL(await http.listen())
  const send = async (bytes: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.end(bytes)
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    return { head, problem: JSON.parse(body) }
  }
  const garbage = await send('hello\r\n\r\n')
  assert.match(garbage.head, /^HTTP\/1.1 400 [\s\S]*x-request-id: req_/)
  assert.equal(garbage.problem.code, 'invalid_request')
  const huge = await send(`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
  assert.equal(huge.problem.code, 'headers_too_large')
})

test('the server does not boot with an operation without access, without a handler, or a handler without an operation', () => {
  const [sample] = operationList.filter(({ id }) => id === 'listProjects')
  const nothing = { streams: {}, own: [] }
  assert.throws(
    () => bindOperations({ ...nothing, operations: [sample!], handlers: {} }),
    /"listProjects" has no handler/,
  )
  assert.throws(
    () =>
      bindOperations({
        ...nothing,
        operations: [operation({ ...sample!, access: undefined as never })],
        handlers: { listProjects() {} },
      }),
    /"listProjects" does not declare who may call it/,
  )
  assert.throws(
    () => bindOperations({ ...nothing, operations: [sample!], handlers: { listProjects() {}, listProject() {} } }),
    /"listProject" stands for no operation/,
  )
  const [stream] = operationList.filter(({ id }) => id === 'watchProjectLogs')
  assert.throws(
    () => bindOperations({ ...nothing, operations: [stream!], handlers: { watchProjectLogs() {} } }),
    /no stream handler/,
  )
})

test('the description and its page are open to everybody', async (t) => {
  const http = await openTestHttpApp(t)
  const document = (await http.app.inject({ url: '/api/v1/openapi.json' })).json()
  assert.equal(document.openapi, '3.1.0')
  const page = await http.app.inject({ url: '/api/docs' })
  assert.match(String(page.headers['content-type']), /^text\/html/)
  for (const { id, path } of operationList) {
    assert.ok(document.paths[`/api/v1${path}`], path)
    assert.ok(page.body.includes(`id="${id}"`), id)
  }
  // Texts may name addresses of others.
  assert.doesNotMatch(
    page.body,
    /<script|(?:src|href|action)="?https?:\/\/(?!stackquay)|url\(|@import/,
    'nothing runs or is loaded',
  )
})

test('the page’s own addresses answer its start, its hashed files stay valid, and the API is never covered', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-web-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>start</title>')
  await writeFile(join(folder, 'assets', 'app-1a2b.js'), 'console.log("plain")')
  await writeFile(join(folder, 'assets', 'app-1a2b.js.br'), 'squeezed')
  const http = await openTestHttpApp(t, { webFolder: folder })
  const get = (url: string, headers: Record<string, string> = {}) => http.app.inject({ url, headers })
  const html = { accept: 'text/html,*/*' }
  for (const path of ['/', '/projects/shop', '/login?next=%2F']) {
    const answer = await get(path, html)
    assert.match(answer.body, /<title>start/, path)
    assert.equal(answer.headers['cache-control'], 'no-cache')
    assert.ok(answer.headers.etag)
    assert.match(String(answer.headers['content-security-policy']), /default-src 'self'/)
  }
  const asset = await get('/assets/app-1a2b.js')
  assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal((await get('/assets/app-1a2b.js', { 'accept-encoding': 'br' })).headers['content-encoding'], 'br')
  assert.equal((await get('/assets/old.js', html)).json().code, 'not_found')
  assert.equal((await get('/api/v1/nowhere', html)).json().code, 'not_found')
  assert.equal((await get('/projects/shop', { accept: 'application/json' })).json().code, 'not_found')
  assert.equal((await get('/../../etc/passwd', { accept: '*/*' })).statusCode, 404)
})
