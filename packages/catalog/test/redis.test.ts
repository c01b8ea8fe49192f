import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ChosenToolchain, type ServiceInput, serviceTypeOf, type WorkloadSpec } from '@stackquay/catalog'
import { serviceInput } from './support/inputs.ts'
import { redisJourneys } from './support/redis-journeys.ts'
import { listening, type Machine, type Running, start } from './support/run-workload.ts'
import { nativeStage, type Stage } from './support/stage.ts'

const kind = serviceTypeOf('redis')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`

describe('The Redis service', () => {
  const external = { host: 'cache.example.org', port: 6380, username: null, password: null, tls: false }
  const reference = { secret: 'service/redis/external.password', version: 3 }

  test('keeps its password out of argv and its data in its own directory', () => {
    const spec = kind.toWorkload(serviceInput(kind))
    assert.equal(spec.name, 'redis')
    assert.deepEqual(spec.data, [{ name: 'redis' }])
    assert.equal(spec.run.cwd, '{data:redis}')
    assert.deepEqual(spec.env, { PASSWORD: [{ secret: 'password', version: 1 }] })
    assert.ok(spec.run.argv.every((word) => typeof word === 'string'))
    const settings = spec.run.argv.at(-1)!.split('\n')
    for (const line of ['bind 127.0.0.1', 'port 30000', 'protected-mode yes', 'appendonly yes', 'appendfsync always'])
      assert.ok(settings.includes(line), line)
  })

  test('listens elsewhere only when it is told to', () => {
    const spec = kind.toWorkload(serviceInput(kind, { exposePort: true }, { bind: () => '0.0.0.0' }))
    assert.ok(spec.run.argv.at(-1)!.split('\n').includes('bind 0.0.0.0'))
    assert.deepEqual(spec.ports, [{ name: 'redis', port: 30000, hostPort: 30000, bind: '0.0.0.0' }])
  })

  test('tells runtimes where its own server is', () => {
    const input = serviceInput(kind)
    const password = [{ secret: 'password', version: 1 }]
    const url = ['redis://default:', { secret: 'password', version: 1, encode: 'url' }, '@127.0.0.1:30000']
    assert.deepEqual(kind.variables(input), {
      REDIS_URL: url,
      REDIS_HOST: '127.0.0.1',
      REDIS_PORT: '30000',
      REDIS_PASSWORD: password,
    })
    assert.deepEqual(Object.keys(kind.variables(input)), kind.injects)
    assert.deepEqual(kind.credentials?.(input), {
      host: '127.0.0.1',
      port: 30000,
      username: 'default',
      password,
      tls: false,
      url,
    })
    assert.equal(kind.runsHere?.(input.settings), true)
  })

  test('tells runtimes of a Redis elsewhere instead, and starts nothing then', () => {
    const input = serviceInput(kind, { external: { ...external, username: 'shop@é', password: reference, tls: true } })
    assert.equal(kind.runsHere?.(input.settings), false)
    const url = ['rediss://shop%40%C3%A9:', { ...reference, encode: 'url' }, '@cache.example.org:6380']
    assert.deepEqual(kind.variables(input), {
      REDIS_URL: url,
      REDIS_HOST: 'cache.example.org',
      REDIS_PORT: '6380',
      REDIS_PASSWORD: [reference],
    })
    assert.deepEqual(kind.credentials?.(input), {
      host: 'cache.example.org',
      port: 6380,
      username: 'shop@é',
      password: [reference],
      tls: true,
      url,
    })
  })

  test('writes URLs for a Redis elsewhere that has no password, or a numeric address', () => {
    const variables = (said: object) => kind.variables(serviceInput(kind, { external: { ...external, ...said } }))
    assert.deepEqual(variables({}), {
      REDIS_URL: 'redis://cache.example.org:6380',
      REDIS_HOST: 'cache.example.org',
      REDIS_PORT: '6380',
    })
    assert.equal(variables({ username: 'reader' }).REDIS_URL, 'redis://reader@cache.example.org:6380')
    assert.equal(variables({ host: '2001:db8::1' }).REDIS_URL, 'redis://[2001:db8::1]:6380')
    assert.equal(variables({ host: '2001:db8::1' }).REDIS_HOST, '2001:db8::1')
  })

  test('stores a Redis elsewhere with a sealed password, takes it as text and never shows it', () => {
    const { stored, patch, view, defaults, secretFields } = kind.settings
    const base = { ...defaults(), version: '8.10' }
    assert.deepEqual(stored.parse({ ...base, external: { host: 'cache' } }).external, {
      host: 'cache',
      port: 6379,
      username: null,
      password: null,
      tls: false,
    })
    assert.deepEqual(stored.parse({ ...base, external: { ...external, password: reference } }).external, {
      ...external,
      password: reference,
    })
    assert.throws(() => stored.parse({ ...base, external: { ...external, password: 'text' } }))
    assert.deepEqual(secretFields, [['external', 'password']])

    const { password, ...shown } = external
    const answer = { ...base, external: { ...shown, hasPassword: true }, hostPort: null }
    assert.deepEqual(view.parse(answer), answer)
    assert.throws(() => view.parse({ ...answer, external: { ...shown, password, hasPassword: true } }))
    assert.doesNotThrow(() => patch.parse(answer))
    for (const sent of [null, {}, { password: 'text' }, { password: null }, { port: 6390 }])
      assert.deepEqual(patch.parse({ external: sent }), { external: sent })
    for (const sent of [
      { password: '' },
      { password: reference },
      { password: 'a\0' },
      { host: 'redis://cache' },
      { host: '[::1]' },
      { host: 'user@cache' },
      { port: 0 },
      { surprise: 1 },
    ])
      assert.equal(patch.safeParse({ external: sent }).success, false, JSON.stringify(sent))
  })

  test('recognises its versions as the program prints them, and neither older ones nor Valkey', () => {
    const rest = ' sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n'
    const version = (text: string) => new RegExp(kind.toolchain!.versionPattern, 'm').exec(text + rest)?.[1]
    assert.equal(version('Redis server v=7.0.15'), '7.0.15')
    assert.equal(version('Redis server v=6.2.14'), '6.2.14')
    assert.equal(version('Redis server v=8.10.2'), '8.10.2')
    assert.equal(version('Redis server v=10.0.1'), '10.0.1')
    assert.equal(version('Redis server v=6.0.16'), undefined)
    assert.equal(version('Redis server v=5.0.14'), undefined)
    assert.equal(version('Valkey server v=8.1.1'), undefined)
    const printed = spawnSync(program(), [...kind.toolchain!.versionArgs], { encoding: 'utf8' }).stdout
    assert.match(printed, new RegExp(kind.toolchain!.versionPattern))
  })

  test('lets data go to a later line and not to an earlier one', () => {
    assert.equal(kind.dataBlocker('7.0', '7.0'), null)
    assert.equal(kind.dataBlocker('6.2', '7.0'), null)
    assert.equal(kind.dataBlocker('7.4', '8.0'), null)
    assert.equal(kind.dataBlocker('8.8', '8.10'), null)
    assert.match(kind.dataBlocker('8.10', '8.8')!, /^Redis 8\.8 cannot read data that 8\.10 wrote/)
    assert.match(kind.dataBlocker('8.0', '7.4')!, /choose 8\.0 again/)
  })
})

redisJourneys('of this machine', () => nativeStage(kind, toolchain()))

describe('A Redis server among the processes of a machine', () => {
  let stage: Stage
  let machine: Machine
  let input: ServiceInput

  before(async () => {
    stage = nativeStage(kind, toolchain())
    machine = stage.project('redis', { password: hostile })
    input = await stage.service()
  })

  after(() => stage.close())

  test('shows its password neither in its arguments nor in its environment, and keeps the marks of its engine', async () => {
    const spec = kind.toWorkload(input)
    await withServer(
      async ({ child }) => {
        const told = spawnSync('ps', ['-ww', '-o', 'args=', '-p', String(child.pid)], { encoding: 'utf8' }).stdout
        assert.match(told, /redis-server -$/m)
        assert.ok(!told.includes('quoted'))
        if (process.platform !== 'linux') return
        const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0')
        assert.ok(environment.includes('MARK=of the engine'))
        assert.ok(!environment.join().includes('quoted'))
      },
      { ...spec, env: { ...spec.env, MARK: 'of the engine' } },
    )
  })

  test('ends when another program has its port, and leaves that alone', async () => {
    await withServer(async (running) => {
      const second = await start(kind.toWorkload(input), machine)
      const ended = await new Promise((resolve) => second.child.once('close', resolve))
      assert.equal(ended, 1, second.output())
      assert.match(second.output(), /in use/)
      await listening(running, input.hostPort('redis'))
    })
  })

  async function withServer(
    act: (running: Running) => Promise<unknown>,
    spec: WorkloadSpec = kind.toWorkload(input),
  ): Promise<void> {
    const running = await start(spec, machine)
    try {
      await listening(running, input.hostPort('redis'))
      await act(running)
    } finally {
      await running.stop()
    }
  }
})

function toolchain(): ChosenToolchain {
  const server = program()
  return { version: '7.0.15', program: server, directory: dirname(server) }
}

function program(): string {
  const found = spawnSync('sh', ['-c', 'command -v redis-server'], { encoding: 'utf8' }).stdout.trim()
  assert.ok(found, `Install Redis for this test: ${kind.install.debian}`)
  return found
}
