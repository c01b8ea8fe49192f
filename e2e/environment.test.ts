import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createClient } from '@stackquay/client'
import { randomFrom } from '@stackquay/testkit/random'
import { type Service, startService } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'
import { filesThatHold, traces } from './support/traces.ts'

/** Answers the SHA-256 of each of its variables, from the bytes that the kernel gave it. */
const program = `
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
const bytes = readFileSync('/proc/self/environ')
const hashes = {}
for (let start = 0; start < bytes.length; ) {
  const end = bytes.indexOf(0, start)
  const entry = bytes.subarray(start, end)
  const cut = entry.indexOf('=')
  hashes[entry.subarray(0, cut).toString()] = createHash('sha256').update(entry.subarray(cut + 1)).digest('hex')
  start = end + 1
}
createServer((request, response) => response.end(JSON.stringify(hashes))).listen(process.env.PORT, '127.0.0.1')
`

describe('environment variables', () => {
  let service: Service
  let root: SourceRoot
  const values = randomValues(200)
  const isSecret = (name: string) => Number(name.slice(2)) % 2 === 0
  const secrets = [...values].filter(([name]) => isSecret(name))

  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path, env: { STACKQUAY_LOG_LEVEL: 'trace' } })
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  it('arrive byte for byte, 200 random ones, half of them secret', { timeout: 60_000 }, async () => {
    const path = await root.folder('hashes', {
      'package.json': JSON.stringify({ type: 'module', scripts: { start: 'node server.js' } }),
      'server.js': program,
    })
    const env = Object.fromEntries(
      [...values].map(([name, value]) => [name, isSecret(name) ? { value, secret: true } : value]),
    )
    const project = await service.client.call('createProject', {
      body: { name: 'Hashes', path, env },
      query: { wait: 60 },
    })
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    await assertArrived('hashes')
  })

  it('arrive the same after a kill of the control plane and a restart of the project', {
    timeout: 60_000,
  }, async () => {
    await service.kill()
    await service.start()
    const restarted = await service.client.call('restartProject', { params: { id: 'hashes' }, query: { wait: 60 } })
    assert.equal(restarted.state, 'succeeded', JSON.stringify(restarted.error))
    await assertArrived('hashes')
  })

  it('arrive the same in a copy of the project', { timeout: 60_000 }, async () => {
    const copy = await service.client.call('duplicateProject', {
      params: { id: 'hashes' },
      body: { name: 'Hashes again' },
      query: { wait: 60 },
    })
    assert.equal(copy.operation?.state, 'succeeded', JSON.stringify(copy.operation?.error))
    await assertArrived('hashes-again')
  })

  it('that are secret are null in the record and in the list, and revealed one by one from scope operate on', async () => {
    const record = await service.client.call('getProject', { params: { id: 'hashes' } })
    for (const [name, value] of values) {
      assert.deepEqual(
        record.env[name],
        isSecret(name) ? { value: null, secret: true, runtimes: null } : { value, secret: false, runtimes: null },
        `${name} in the record`,
      )
    }
    const reader = createClient({ baseUrl: service.url, token: await service.newToken('read') })
    const { env: masked } = await reader.call('getProjectEnv', { params: { id: 'hashes' } })
    const operator = createClient({ baseUrl: service.url, token: await service.newToken('operate') })
    const { env: listed } = await operator.call('getProjectEnv', { params: { id: 'hashes' } })
    assert.deepEqual(listed, masked)
    for (const [name, value] of values) {
      assert.equal(masked[name]?.value, isSecret(name) ? null : value, `${name} for a read token`)
      const shown = await operator.call('getProjectEnvValue', {
        params: { id: 'hashes', name },
        query: { reveal: true },
      })
      assert.equal(shown.value, value, `${name} for an operate token`)
    }
  })

  it('that are secret stand in no answer, operation, event, audit entry, log or file', {
    timeout: 60_000,
  }, async () => {
    const [name] = secrets[0]!
    await service.client.call('putProjectEnv', {
      params: { id: 'hashes', name },
      body: { value: 'a-secret-that-was-put-later', secret: true },
      query: { wait: 30 },
    })
    const marks = [...secrets.flatMap(([, value]) => /mark\d+mark/.exec(value) ?? []), 'a-secret-that-was-put-later']
    assert.ok(marks.length > 80)
    for (const [where, told] of Object.entries(await traces(service)))
      for (const mark of marks) assert.ok(!told.includes(mark), `${mark} stands in ${where}`)
    assert.deepEqual(await filesThatHold(service.home, marks), [])
  })

  it('are refused with a zero byte, which no program could receive', async () => {
    const answer = await fetch(`${service.url}/api/v1/projects/hashes/env/ZERO`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ value: 'a\0b' }),
    })
    assert.equal(answer.status, 422)
    const problem = (await answer.json()) as { errors: { pointer: string }[] }
    assert.match(problem.errors[0]?.pointer ?? '', /ZERO|value/)
  })

  async function assertArrived(slug: string): Promise<void> {
    const answer = await service.get(slug)
    assert.equal(answer.status, 200, answer.body)
    const arrived = JSON.parse(answer.body) as Record<string, string>
    const changed = [...values].filter(([name, value]) => arrived[name] !== sha256(value))
    assert.deepEqual(
      changed.map(([name, value]) => `${name}: ${JSON.stringify(value).slice(0, 80)}`),
      [],
    )
  }
})

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/** Texts that shells, templates, environment files and JSON like to change, put together by chance. */
function randomValues(count: number): ReadonlyMap<string, string> {
  const random = randomFrom(20_261_121)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const chunks = [
    '$HOME',
    ['$', '{PATH}'].join(''),
    '$(id)',
    '`id`',
    '$$',
    '%PATH%',
    '{data:main}',
    '{secret:x}',
    '{{x}}',
    '<%= 1 %>',
    '#{x}',
    '!!',
    '"',
    "'",
    '\\',
    '\\n',
    '\n',
    '\r\n',
    '\t',
    ' ',
    '#',
    ' # not a comment',
    '=',
    ';',
    '&&',
    '|',
    '*',
    '~',
    '/',
    '..',
    'ä',
    '漢字',
    '🚢',
    '\u202e',
    '\u00a0',
    '\u0001',
    '\u001b[31m',
    '\u007f',
    '\ufeff',
    'e\u0301',
    'word',
    '0x1F',
    'null',
  ]
  const special = [
    '',
    ' ',
    'trailing spaces   ',
    '   leading spaces',
    '\n',
    'ends with a new line\n',
    '"quoted"',
    "'quoted'",
    '{data:x}',
    '{data:postgresql-main}/x',
    '$PORT',
    '-----BEGIN KEY-----\nabc\n-----END KEY-----\n',
    'x'.repeat(60 * 1024),
    '漢'.repeat(20 * 1024),
    JSON.stringify({ a: '$b', c: ['"', '\n'] }),
    'export A=b; exec sh',
  ]
  return new Map(
    Array.from({ length: count }, (_, index) => {
      const length = 1 + Math.floor(random() * 40)
      const text = special[index] ?? Array.from({ length }, () => pick(chunks)).join('')
      // Whatever escapes the rest of a text in an answer or a file leaves the mark as it is.
      return [`V_${index}`, index < special.length ? text : `${text}mark${index}mark${pick(chunks)}`]
    }),
  )
}
