import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceKindOf, type WorkloadDraft } from '@stackquay/catalog'
import { revealValue, type Value } from '@stackquay/engine-api'
import { serviceInput } from './support/inputs.ts'
import { freePort, type Machine, type Running, start } from './support/run-draft.ts'

const kind = serviceKindOf('redis')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`

describe('The Redis service', () => {
  const external = { host: 'cache.example.org', port: 6380, username: null, password: null, tls: false }
  const reference = { secret: 'service/redis/external.password', version: 3 }

  test('keeps its password out of argv and its data in its own directory', () => {
    const draft = kind.toWorkload(serviceInput(kind))
    assert.equal(draft.name, 'redis')
    assert.deepEqual(draft.data, [{ name: 'redis' }])
    assert.equal(draft.run.cwd, '{data:redis}')
    assert.deepEqual(draft.env, { PASSWORD: [{ secret: 'password', version: 1 }] })
    assert.ok(draft.run.argv.every((word) => typeof word === 'string'))
    const settings = draft.run.argv.at(-1)!.split('\n')
    for (const line of ['bind 127.0.0.1', 'port 30000', 'protected-mode yes', 'appendonly yes', 'appendfsync always'])
      assert.ok(settings.includes(line), line)
  })

  test('listens elsewhere only when it is told to', () => {
    const draft = kind.toWorkload(serviceInput(kind, { exposePort: true }, { bind: () => '0.0.0.0' }))
    assert.ok(draft.run.argv.at(-1)!.split('\n').includes('bind 0.0.0.0'))
    assert.deepEqual(draft.ports, [{ name: 'redis', port: 30000, hostPort: 30000, bind: '0.0.0.0' }])
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
    assert.equal(kind.dataObstacle('7.0', '7.0'), null)
    assert.equal(kind.dataObstacle('6.2', '7.0'), null)
    assert.equal(kind.dataObstacle('7.4', '8.0'), null)
    assert.equal(kind.dataObstacle('8.8', '8.10'), null)
    assert.match(kind.dataObstacle('8.10', '8.8')!, /^Redis 8\.8 cannot read data that 8\.10 wrote/)
    assert.match(kind.dataObstacle('8.0', '7.4')!, /choose 8\.0 again/)
  })
})

describe('A Redis server', () => {
  let folder: string
  let data: string
  let machine: Machine
  let input: ServiceInput
  const uid = process.getuid?.() === 0 ? nobody() : undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stackquay-redis-'))
    await chmod(folder, 0o755)
    data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    if (uid !== undefined) chownSync(data, uid, uid)
    machine = { data: { redis: data }, secrets: { password: hostile }, ...(uid ? { uid } : {}) }
    const port = await freePort()
    const server = program()
    input = serviceInput(
      kind,
      {},
      { hostPort: () => port, toolchain: { version: '7.0.15', program: server, directory: dirname(server) } },
    )
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  test('takes clients through the URL it gives to programs, and nobody without its password', async () => {
    await withServer(async () => {
      assert.equal(await client(['SET', 'greeting', 'kept']), 'OK')
      assert.equal(await client(['GET', 'greeting']), 'kept')
      assert.match(await client(['GET', 'greeting'], 'wrong'), /WRONGPASS/)
      assert.match(await raw('GET greeting\r\n', /\r\n/), /^-NOAUTH/)
      assert.equal(await client(['CONFIG', 'GET', 'bind']), 'bind\n127.0.0.1')
    })
  })

  test('shows its password neither in its arguments nor in its environment, and keeps the marks of its engine', async () => {
    const draft = kind.toWorkload(input)
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
      { ...draft, env: { ...draft.env, MARK: 'of the engine' } },
    )
  })

  test('gives the user of its health check the right to PING and no other', async () => {
    await withServer(async () => {
      const greeting = Buffer.from(greetingOf(kind.toWorkload(input)).send, 'base64').toString()
      const login = greeting.split('\r\n')[0]
      for (const command of ['GET greeting', 'SET greeting changed', 'KEYS *', 'CONFIG GET *', 'ACL LIST', 'SHUTDOWN'])
        assert.match(await raw(`${login}\r\n${command}\r\n`, /OK\r\n.+\r\n/), /^\+OK\r\n-NOPERM/, command)
      const wrong = login?.replace(/\S+$/, 'prj_2')
      assert.match(await raw(`${wrong}\r\nPING\r\n`, /\r\n.+\r\n/), /^-WRONGPASS.*\r\n-NOAUTH/)
    })
  })

  test('does not start without a password, for that would be a server that is open to everybody', async () => {
    const running = await start(kind.toWorkload(input), { ...machine, secrets: { password: '' } })
    // It would serve for ever otherwise.
    const deadline = setTimeout(() => running.stop('SIGKILL'), 60_000)
    const code = await new Promise((resolve) => running.child.once('close', resolve))
    clearTimeout(deadline)
    assert.equal(code, 1)
    assert.match(running.output(), /There is no password/)
  })

  test('stops within its deadline while a client stays connected, and keeps its keys', async () => {
    await withServer(async (running) => {
      const socket = connect(input.hostPort('redis'), '127.0.0.1').on('error', () => {})
      await client(['SET', 'before', 'the stop'])
      assert.deepEqual(await running.stop(), { code: 0, signal: null })
      socket.destroy()
    })
    await withServer(async () => assert.equal(await client(['GET', 'before']), 'the stop'))
  })

  test('has every key it acknowledged after it was killed in the middle of writing', async () => {
    const writer = flood()
    for (let round = 0; round < 3; round++) {
      await withServer(async (running) => {
        await writer.more(500)
        assert.deepEqual(await running.stop('SIGKILL'), { code: null, signal: 'SIGKILL' })
        await writer.ended()
      })
    }
    await withServer(async () => {
      const { acknowledged } = writer
      assert.ok(acknowledged >= 1500)
      const names = Array.from({ length: acknowledged }, (_, index) => `flood:${index}`)
      assert.equal(await client(['EXISTS', ...names]), String(acknowledged))
      assert.equal(await client(['GET', `flood:${acknowledged - 1}`]), `value ${acknowledged - 1}`)
    })
  })

  test('loads a file whose last command was cut off, and clears what a killed rewrite left', async () => {
    const folderOfFiles = join(data, 'appendonlydir')
    const last = readdirSync(folderOfFiles).filter((name) => name.endsWith('.incr.aof'))
    assert.equal(last.length, 1)
    writeFileSync(join(folderOfFiles, last[0]!), '*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$100\r\ncut', { flag: 'a' })
    const left = ['temp-rewriteaof-bg-12.aof', 'temp-rewriteaof-12.aof', 'temp-12.rdb'].map((name) => join(data, name))
    for (const file of left) writeFileSync(file, 'half')
    await withServer(async () => {
      assert.equal(await client(['GET', 'before']), 'the stop')
      assert.equal(await client(['EXISTS', 'half']), '0')
      for (const file of left) assert.equal(existsSync(file), false, file)
    })
  })

  test('takes a new password after a restart and refuses the one before, with all its keys', async () => {
    machine = { ...machine, secrets: { password: 'rotated' } }
    await withServer(async () => {
      assert.equal(await client(['GET', 'before']), 'the stop')
      assert.match(await client(['GET', 'before'], hostile), /WRONGPASS/)
    })
  })

  test('is healthy only when it has loaded its data, though it listens before', async () => {
    await withServer(() => flood().more(6000))
    const draft = kind.toWorkload(input)
    const slow = ['key-load-delay 200', 'loading-process-events-interval-bytes 1024'].join('\n')
    const words = draft.run.argv.slice(0, -1)
    const argv = [...words, `${draft.run.argv.at(-1)}\n${slow}`] as unknown as typeof draft.run.argv
    const running = await start({ ...draft, run: { ...draft.run, argv } }, machine)
    try {
      const answers = await greeted(running, draft)
      assert.match(answers.join(), /^\+OK\r\n-LOADING/)
      assert.equal(await client(['GET', 'before']), 'the stop')
    } finally {
      await running.stop()
    }
  })

  test('ends when another program has its port, and leaves that alone', async () => {
    await withServer(async () => {
      const second = await start(kind.toWorkload(input), machine)
      const ended = await new Promise((resolve) => second.child.once('close', resolve))
      assert.equal(ended, 1, second.output())
      assert.match(second.output(), /in use/)
      assert.equal(await client(['GET', 'before']), 'the stop')
    })
  })

  async function withServer(
    act: (running: Running) => Promise<unknown>,
    draft: WorkloadDraft = kind.toWorkload(input),
  ): Promise<void> {
    const running = await start(draft, machine)
    try {
      await greeted(running, draft)
      await act(running)
    } finally {
      await running.stop()
    }
  }

  /** Answers to the health check's greeting until it is the expected one; that is not among them. */
  async function greeted(running: Running, draft: WorkloadDraft): Promise<string[]> {
    const { send, expect } = greetingOf(draft)
    const expected = Buffer.from(expect, 'base64').toString()
    const answers: string[] = []
    for (const deadline = Date.now() + 120_000; ; ) {
      const answer = await raw(Buffer.from(send, 'base64').toString(), /\r\n.+\r\n/).catch(() => '')
      if (answer.startsWith(expected)) return answers
      if (answer !== '') answers.push(answer)
      const ended = running.child.exitCode !== null || running.child.signalCode !== null
      if (ended || Date.now() > deadline) throw new Error(`It is not ready: ${answers}\n${running.output()}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** What the server says to these bytes, until it has said what is waited for or closes. */
  function raw(bytes: string, until: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = ''
      const socket = connect(input.hostPort('redis'), '127.0.0.1', () => socket.write(bytes))
      socket.setEncoding('utf8').on('data', (text: string) => {
        answer += text
        if (until.test(answer)) socket.destroy()
      })
      socket.on('error', reject).on('close', () => resolve(answer))
    })
  }

  /** The client that comes with the server, which reads the URL by itself. */
  async function client(words: readonly string[], secret?: string): Promise<string> {
    const url = await text(kind.variables(input).REDIS_URL!, secret)
    const args = ['-u', url, '--no-auth-warning', ...words]
    const { stdout, stderr } = spawnSync(join(dirname(program()), 'redis-cli'), args, { encoding: 'utf8' })
    return `${stdout}${stderr}`.trim()
  }

  /** Writes numbered keys, 64 at a time, and counts the answers. */
  function flood() {
    let acknowledged = 0
    let closed = Promise.resolve()
    return {
      get acknowledged() {
        return acknowledged
      },
      /** Resolves when so many more are acknowledged, and goes on writing until the server is gone. */
      async more(count: number): Promise<void> {
        const wanted = acknowledged + count
        const reached = Promise.withResolvers<void>()
        const socket = connect(input.hostPort('redis'), '127.0.0.1')
        let sent = acknowledged
        let loggedIn = false
        const write = () => {
          for (; sent < acknowledged + 64; sent++) socket.write(command('SET', `flood:${sent}`, `value ${sent}`))
        }
        socket.on('connect', () => {
          socket.write(command('AUTH', machine.secrets.password ?? ''))
          write()
        })
        socket.setEncoding('latin1').on('data', (chunk: string) => {
          if (/[^+OK\r\n]/.test(chunk)) reached.reject(new Error(chunk))
          acknowledged += chunk.split('\n').length - 1 - (loggedIn ? 0 : 1)
          loggedIn = true
          if (acknowledged >= wanted) reached.resolve()
          write()
        })
        socket.on('error', () => {})
        closed = new Promise((resolve) => socket.on('close', () => resolve()))
        await Promise.race([reached.promise, closed.then(() => assert.fail('the server is gone'))])
      },
      /** When the last answer has arrived. */
      ended: () => closed,
    }
  }

  function command(...words: string[]): string {
    return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
  }

  function text(value: Value, secret?: string): Promise<string> {
    return revealValue(value, async (ref) => secret ?? machine.secrets[ref.secret] ?? '')
  }
})

function greetingOf(draft: WorkloadDraft): { readonly send: string; readonly expect: string } {
  assert.ok(draft.health.kind === 'tcp' && draft.health.greeting !== undefined)
  return draft.health.greeting
}

function program(): string {
  const found = spawnSync('sh', ['-c', 'command -v redis-server'], { encoding: 'utf8' }).stdout.trim()
  assert.ok(found, `Install Redis for this test: ${kind.install.debian}`)
  return found
}

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
