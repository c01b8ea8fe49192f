import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stq } from './run-stq.ts'
import { standIn } from './stand-in.ts'

test('against a stand-in: notification channels are added from their schema, tried, shown and removed; secrets come from files', async () => {
  const channel = {
    id: 'ntc_1',
    name: 'phone',
    kind: 'gotify',
    address: 'push.example',
    settings: { serverUrl: 'https://push.example', hasToken: true },
    events: ['down'],
    projects: [],
    quietHours: null,
    cooldownMinutes: 30,
    enabled: true,
    createdAt: '2026-01-01T00:00:00Z',
    lastDelivery: { state: 'failed', at: '2026-01-01T00:00:00Z', error: 'The receiver answered 401.' },
  }
  const properties = { serverUrl: { type: 'string' }, token: { type: 'string', writeOnly: true } }
  const settingsSchema = { properties, required: ['serverUrl', 'token'] }
  const message = {
    id: 'msg_1',
    state: 'failed',
    attempts: [{ at: '2026-01-01T00:00:00Z', status: 500, error: null, durationSeconds: 0.2 }],
    nextAttemptAt: null,
    createdAt: '2026-01-01T00:00:00Z',
    channel: 'ntc_1',
    event: 'down',
    title: 'Shop: web ended',
    text: '',
  }
  await using service = await standIn({
    'GET /settings/notifications': () => ({
      items: [channel],
      kinds: [{ name: 'gotify', label: 'Gotify', settingsSchema }],
    }),
    'POST /settings/notifications': () => channel,
    'POST /settings/notifications/ntc_1/test': () => ({ ...message, state: 'delivered' }),
    'GET /settings/notifications/ntc_1/deliveries': () => ({ items: [message], nextCursor: null }),
    'DELETE /settings/notifications/ntc_1': (_call, response) => void response.writeHead(204).end(),
  })
  const folder = await mkdtemp(join(tmpdir(), 'stq-notify-'))
  await writeFile(join(folder, 'token'), 'Asecret\n')
  const options = { url: service.url, cwd: folder }
  const add = ['notify', 'add', 'phone', '--kind', 'gotify', '--set', 'serverUrl=https://push.example']
  const made = await stq(
    [...add, '--secret-file', 'token=token', '--quiet-hours', '22:00-07:00', '--timezone', 'UTC'],
    options,
  )
  assert.equal(made.code, 0, made.stderr)
  assert.deepEqual(service.calls.find(({ method }) => method === 'POST')?.body, {
    name: 'phone',
    kind: 'gotify',
    settings: { serverUrl: 'https://push.example', token: 'Asecret' },
    quietHours: { from: '22:00', to: '07:00', timezone: 'UTC' },
  })
  assert.equal((await stq([...add, '--set', 'token=Asecret'], options)).code, 2)
  assert.equal((await stq(add, options)).code, 2)
  assert.match(
    (await stq(['notify'], options)).stdout,
    /phone .*gotify +failed +push\.example \(The receiver answered 401\.\)/,
  )
  assert.match((await stq(['notify', 'test', 'phone'], options)).stdout, /Delivered to push\.example/)
  assert.match((await stq(['notify', 'log', 'phone'], options)).stdout, /failed +1 +Shop: web ended/)
  assert.equal((await stq(['notify', 'remove', 'phone'], options)).code, 2)
  assert.equal((await stq(['notify', 'remove', 'phone', '--yes'], options)).code, 0)
  await rm(folder, { recursive: true })
})
