import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceTypeOf } from '@stackquay/catalog'
import { serviceInput } from './support/inputs.ts'
import { freePort, type Machine, type Running, start } from './support/run-workload.ts'

const kind = serviceTypeOf('typesense')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`

describe('The Typesense service', () => {
  test('keeps its key out of argv, its data in its own directory, and its second port on loopback', () => {
    const spec = kind.toWorkload(serviceInput(kind, { exposePort: true }, { bind: () => '0.0.0.0' }))
    assert.equal(spec.name, 'typesense')
    assert.deepEqual(spec.run.argv, [
      '/tools/bin/program',
      '--data-dir={data:typesense}',
      '--api-address=0.0.0.0',
      '--api-port=30000',
      '--peering-address=127.0.0.1',
      '--peering-port=30001',
    ])
    assert.deepEqual(spec.env, { TYPESENSE_API_KEY: [{ secret: 'apiKey', version: 1 }] })
    assert.deepEqual(spec.data, [{ name: 'typesense' }])
    assert.deepEqual(spec.ports, [
      { name: 'http', port: 30000, hostPort: 30000, bind: '0.0.0.0' },
      { name: 'peering', port: 30001, hostPort: 30001, bind: '127.0.0.1' },
    ])
    assert.deepEqual(
      kind.ports.map(({ name, port, published }) => [name, port, published]),
      [
        ['http', 8108, true],
        ['peering', 8107, false],
      ],
    )
    assert.ok(kind.toWorkload(serviceInput(kind)).run.argv.includes('--api-address=127.0.0.1'))
  })

  test('tells runtimes where it is, in one piece and in parts, and its key', () => {
    const apiKey = [{ secret: 'apiKey', version: 1 }]
    const input = serviceInput(kind)
    assert.deepEqual(kind.variables(input), {
      TYPESENSE_URL: 'http://127.0.0.1:30000',
      TYPESENSE_HOST: '127.0.0.1',
      TYPESENSE_PORT: '30000',
      TYPESENSE_PROTOCOL: 'http',
      TYPESENSE_API_KEY: apiKey,
    })
    assert.deepEqual(Object.keys(kind.variables(input)), kind.injects)
    assert.deepEqual(kind.credentials?.(input), { apiKey, url: 'http://127.0.0.1:30000' })
  })

  test('recognises its version as the program prints it, and its line before and since 26', () => {
    const version = (text: string) => new RegExp(kind.toolchain!.versionPattern, 'm').exec(text)?.[1]
    const rest = '\nInvalid configuration: Data directory is not specified.\nCommand line usage: ./typesense-server …'
    assert.equal(version(`Typesense 30.2${rest}`), '30.2')
    assert.equal(version(`Typesense 0.25.2${rest}`), '0.25.2')
    assert.equal(version(`Typesense nightly${rest}`), undefined)
    assert.equal(kind.lineOf('30.2'), '30')
    assert.equal(kind.lineOf('26.0'), '26')
    assert.equal(kind.lineOf('0.25.2'), '0.25')
    for (const { version } of kind.releases) assert.equal(kind.lineOf(`${version}.7`), version)
  })

  test('lets data go to a later line and not to an earlier one', () => {
    assert.equal(kind.dataBlocker('29', '30'), null)
    assert.equal(kind.dataBlocker('30', '30'), null)
    assert.equal(kind.dataBlocker('0.25', '26'), null)
    assert.match(kind.dataBlocker('30', '29')!, /choose 30 again/)
    assert.match(kind.dataBlocker('26', '0.25')!, /^Typesense 0\.25 is not made to read data that 26 wrote/)
  })
})

/**
 * Typesense is in no package registry. This takes its place as far as its documentation speaks of options, the key, the
 * health check and the port for peers; documents are lines in a file.
 */
const standIn = `#!${process.execPath}
const { appendFileSync, existsSync, mkdirSync, readFileSync } = require('node:fs')
const http = require('node:http')
const net = require('node:net')
const options = Object.fromEntries(process.argv.slice(2).map((word) => word.replace(/^--/, '').split('=')))
const key = process.env.TYPESENSE_API_KEY
if (options['data-dir'] === undefined || !key) {
  console.error('Typesense 30.2\\nInvalid configuration: Data directory is not specified.')
  process.exit(1)
}
const folder = options['data-dir'] + '/db'
mkdirSync(folder, { recursive: true })
const file = folder + '/documents'
const loaded = Date.now() + 300
net.createServer().listen(Number(options['peering-port']), options['peering-address'])
http.createServer(async (request, response) => {
  const answer = (status, body) => response.writeHead(status).end(JSON.stringify(body))
  if (request.url === '/health') return answer(Date.now() < loaded ? 503 : 200, { ok: Date.now() >= loaded })
  const given = Buffer.from(request.headers['x-typesense-api-key'] ?? '', 'latin1').toString()
  if (given !== key) return answer(401, { message: 'Forbidden - a valid x-typesense-api-key header must be sent.' })
  if (request.method === 'GET') return answer(200, existsSync(file) ? readFileSync(file, 'utf8').split('\\n').slice(0, -1) : [])
  let body = ''
  for await (const chunk of request) body += chunk
  appendFileSync(file, body + '\\n', { flush: true })
  answer(201, {})
}).listen(Number(options['api-port']), options['api-address'])
process.on('SIGTERM', () => { console.error('Stopping Typesense server...'); process.exit(0) })
`

describe('A stand-in for the Typesense program', () => {
  let folder: string
  let data: string
  let machine: Machine
  let input: ServiceInput

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stackquay-typesense-'))
    chmodSync(folder, 0o755)
    const program = join(folder, 'typesense-server')
    writeFileSync(program, standIn, { mode: 0o755 })
    data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    const uid = process.getuid?.() === 0 ? nobody() : undefined
    if (uid !== undefined) chownSync(data, uid, uid)
    machine = { data: { typesense: data }, secrets: { apiKey: hostile }, ...(uid ? { uid } : {}) }
    const ports: Record<string, number> = { http: await freePort(), peering: await freePort() }
    const printed = spawnSync(program, [...kind.toolchain!.versionArgs], { encoding: 'utf8' }).stderr
    const version = new RegExp(kind.toolchain!.versionPattern).exec(printed)?.[1] ?? ''
    input = serviceInput(
      kind,
      {},
      { hostPort: (name) => ports[name]!, toolchain: { version, program, directory: folder } },
    )
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('is healthy when it has loaded, takes the key that runtimes are given, and refuses none and a wrong one', async () => {
    await withServer(async ({ child }, answers) => {
      assert.deepEqual([...new Set(answers)], [503])
      assert.equal((await ask('POST', 'first')).status, 201)
      assert.deepEqual(await documents(), ['first'])
      assert.equal((await ask('GET', undefined, '')).status, 401)
      assert.equal((await ask('GET', undefined, 'wrong')).status, 401)
      const { stdout } = spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(child.pid)], { encoding: 'utf8' })
      assert.match(stdout, /--api-port/)
      assert.ok(!stdout.includes('quoted'))
      await new Promise((resolve, reject) => {
        const socket = connect(input.hostPort('peering'), '127.0.0.1', () => resolve(socket.destroy()))
        socket.on('error', reject)
      })
    })
    assert.deepEqual(readdirSync(data), ['db'])
  })

  test('ends with its stop signal, and finds its data after a stop and after a kill', async () => {
    await withServer(async (running) => {
      await ask('POST', 'second')
      assert.deepEqual(await running.stop(), { code: 0, signal: null })
    })
    await withServer(async (running) => {
      await ask('POST', 'third')
      assert.deepEqual(await running.stop('SIGKILL'), { code: null, signal: 'SIGKILL' })
    })
    await withServer(async () => assert.deepEqual(await documents(), ['first', 'second', 'third']))
  })

  test('takes a new key after a restart and refuses the one before, with all its data', async () => {
    machine = { ...machine, secrets: { apiKey: 'rotated' } }
    await withServer(async () => {
      assert.equal((await documents()).length, 3)
      assert.equal((await ask('GET', undefined, hostile)).status, 401)
    })
  })

  /** Also hands over what the health check was answered before it was content. */
  async function withServer(act: (running: Running, answers: number[]) => Promise<unknown>): Promise<void> {
    const spec = kind.toWorkload(input)
    const running = await start(spec, machine)
    const answers: number[] = []
    try {
      assert.ok(spec.health.kind === 'http')
      const { path, status } = spec.health
      for (const deadline = Date.now() + 120_000; ; ) {
        const answer = await fetch(`${origin()}${path}`).catch(() => null)
        if (answer !== null && answer.status >= status[0] && answer.status <= status[1]) break
        if (answer !== null) answers.push(answer.status)
        assert.ok(running.child.exitCode === null && Date.now() < deadline, running.output())
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await act(running, answers)
    } finally {
      await running.stop()
    }
  }

  function ask(method: string, body?: string, key = machine.secrets.apiKey ?? ''): Promise<Response> {
    return fetch(`${origin()}/collections/notes/documents`, {
      method,
      headers: { 'x-typesense-api-key': Buffer.from(key).toString('latin1') },
      ...(body === undefined ? {} : { body }),
    })
  }

  async function documents(): Promise<unknown[]> {
    return (await (await ask('GET')).json()) as unknown[]
  }

  function origin(): string {
    return String(kind.variables(input).TYPESENSE_URL)
  }
})

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
