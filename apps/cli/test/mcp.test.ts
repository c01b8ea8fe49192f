import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bridge } from '../src/mcp/bridge.ts'
import { headersOf, type Message, messagesOf } from '../src/mcp/message.ts'
import { stq } from './run-stq.ts'

type Sent = { readonly method: string; readonly message: Message | null; readonly headers: Headers }

/** The bridge between these lines and a service that answers as it is told. */
async function bridged(lines: readonly (Message | string)[], answer: (sent: Sent) => Response | Promise<Response>) {
  const said: Message[] = []
  const notes: string[] = []
  const sent: Sent[] = []
  await bridge({
    url: 'http://service.test/mcp',
    token: 'stq_test',
    userAgent: 'stq-mcp/1',
    lines: (async function* () {
      for (const line of lines) yield typeof line === 'string' ? line : JSON.stringify(line)
    })(),
    signal: new AbortController().signal,
    say: (message) => said.push(message),
    note: (text) => notes.push(text),
    fetch: (async (_url: string, { method, body, headers }: RequestInit) => {
      const one = {
        method: method!,
        message: body == null ? null : JSON.parse(String(body)),
        headers: new Headers(headers),
      }
      sent.push(one)
      return answer(one)
    }) as typeof fetch,
  })
  return { said, notes, sent }
}

const request = (id: number, method: string, params: Message['params'] = {}) =>
  ({ jsonrpc: '2.0', id, method, params }) satisfies Message
const result = (id: unknown, value: object) => ({ jsonrpc: '2.0', id, result: value })
const events = (...messages: object[]) =>
  new Response(messages.map((message) => `id: 1\nevent: message\ndata: ${JSON.stringify(message)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

test('messages go there and back, whether they come alone or as a stream of events', async () => {
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: {} }
  const { said, sent, notes } = await bridged(
    [request(1, 'initialize'), { jsonrpc: '2.0', method: 'notifications/initialized' }, request(2, 'tools/list')],
    ({ message, method }) => {
      if (method === 'DELETE') return new Response(null, { status: 200 })
      if (message?.method === 'initialize')
        return Response.json(result(1, { protocolVersion: '2025-11-25' }), { headers: { 'mcp-session-id': 's1' } })
      return message?.id === undefined
        ? new Response(null, { status: 202 })
        : events(progress, result(2, { tools: [] }))
    },
  )
  assert.deepEqual(said, [result(1, { protocolVersion: '2025-11-25' }), progress, result(2, { tools: [] })])
  assert.deepEqual(notes, [])
  assert.deepEqual(
    sent.map(({ method, headers }) => [method, headers.get('mcp-session-id'), headers.get('mcp-protocol-version')]),
    [
      ['POST', null, null],
      ['POST', 's1', '2025-11-25'],
      ['POST', 's1', '2025-11-25'],
      ['DELETE', 's1', '2025-11-25'],
    ],
  )
  assert.equal(sent[0]?.headers.get('authorization'), 'Bearer stq_test')
  assert.equal(sent[0]?.headers.get('user-agent'), 'stq-mcp/1')
})

test('a session that the service has forgotten is begun again, once, and the client does not notice', async () => {
  let sessions = 0
  const { said, sent } = await bridged(
    [request(1, 'initialize'), request(2, 'tools/list'), request(3, 'prompts/list')],
    ({ message, method, headers }) => {
      if (method === 'DELETE') return new Response(null)
      if (message?.method === 'initialize') {
        sessions += 1
        return Response.json(result(message.id, { protocolVersion: '2025-11-25' }), {
          headers: { 'mcp-session-id': `s${sessions}` },
        })
      }
      if (headers.get('mcp-session-id') === 's1')
        return Response.json({ error: { message: 'forgotten' } }, { status: 404 })
      return message?.id === undefined ? new Response(null, { status: 202 }) : Response.json(result(message.id, {}))
    },
  )
  assert.deepEqual(said.map(({ id }) => id).sort(), [1, 2, 3])
  assert.ok(said.every(({ error }) => error === undefined))
  assert.equal(sessions, 2)
  assert.equal(sent.filter(({ message }) => message?.method === 'notifications/initialized').length, 1)
})

test('what is no message, and what the service refuses, is answered as an error', async () => {
  const problem = { code: 'unauthorized', detail: 'The token is not known here.', hint: 'Create a new one.' }
  const { said, notes } = await bridged(
    ['{"jsonrpc":', '[]', '', request(7, 'tools/list'), { jsonrpc: '2.0', method: 'notifications/x' }],
    () => Response.json(problem, { status: 401 }),
  )
  assert.deepEqual(said, [
    { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'This is no JSON-RPC message.' } },
    { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'This is no JSON-RPC message.' } },
    { jsonrpc: '2.0', id: 7, error: { code: -32000, message: 'The token is not known here. Create a new one.' } },
  ])
  assert.equal(notes.length, 2, 'also what nobody waits for is noted')
})

test('a stream that ends before its answer is an error, not a silence', async () => {
  const { said } = await bridged([request(3, 'tools/call')], () =>
    events({ jsonrpc: '2.0', method: 'notifications/message' }),
  )
  assert.deepEqual(said.at(-1), {
    jsonrpc: '2.0',
    id: 3,
    error: { code: -32000, message: 'The connection broke before the answer came.' },
  })
})

test('a message that says its revision is repeated in headers, names beyond ASCII too', async () => {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  assert.deepEqual(headersOf(request(1, 'tools/call', { name: 'read_logs', _meta }), null), {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'read_logs',
  })
  const { 'mcp-name': name } = headersOf(request(1, 'resources/read', { uri: 'stackquay://ö\r\nx: y', _meta }), null)
  assert.equal(name, `=?base64?${Buffer.from('stackquay://ö\r\nx: y').toString('base64')}?=`)
  assert.deepEqual(headersOf(request(1, 'tools/list'), '2025-06-18'), { 'mcp-protocol-version': '2025-06-18' })
  const split = new Response('data: {"jsonrpc":"2.0",\r\ndata: "id":1}\r\n\r\n: beat\n\ndata:{"id":2}\n\n', {
    headers: { 'content-type': 'text/event-stream' },
  })
  assert.deepEqual(await Array.fromAsync(messagesOf(split)), [{ jsonrpc: '2.0', id: 1 }, { id: 2 }])
})

test('stq mcp says on standard error that the service cannot be reached, and answers so', async () => {
  const { code, stdout, stderr } = await stq(['mcp'], {
    url: 'http://127.0.0.1:1',
    input: `${JSON.stringify(request(1, 'tools/list'))}\n`,
  })
  const { id, error } = JSON.parse(stdout)
  assert.equal(id, 1)
  assert.match(error.message, /^The service at http:\/\/127\.0\.0\.1:1\/mcp cannot be reached: .*Is it running\?$/)
  assert.match(stderr, /^stq mcp: The service at/)
  assert.equal(code, 0)
  const nobody = await stq(['mcp'], { input: '', env: { STACKQUAY_URL: 'http://127.0.0.1:1' } })
  assert.equal(nobody.stdout, '')
  assert.match(nobody.stderr, /Not logged in/)
})
