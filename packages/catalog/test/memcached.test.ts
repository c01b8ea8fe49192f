import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { before, describe, test } from 'node:test'
import { type ServiceInput, serviceKindOf } from '@stackquay/catalog'
import { serviceInput } from './support/inputs.ts'
import { freePort, listening, type Machine, type Running, start } from './support/run-draft.ts'

const kind = serviceKindOf('memcached')!

describe('The Memcached service', () => {
  test('listens where it is told, over TCP alone', () => {
    const draft = kind.toWorkload(serviceInput(kind))
    assert.equal(draft.name, 'memcached')
    assert.deepEqual(draft.run.argv.slice(1), ['-l', '127.0.0.1', '-p', '30000', '-U', '0', '-m', '64'])
    assert.deepEqual(draft.ports, [{ name: 'memcached', port: 30000, hostPort: 30000, bind: '127.0.0.1' }])
    assert.deepEqual(draft.data, [])
    const published = kind.toWorkload(serviceInput(kind, { exposePort: true }, { bind: () => '0.0.0.0' }))
    assert.equal(published.run.argv[2], '0.0.0.0')
    assert.equal(published.ports[0]?.bind, '0.0.0.0')
  })

  test('tells runtimes where it is, and has no credentials', () => {
    const variables = kind.variables(serviceInput(kind))
    assert.deepEqual(variables, {
      MEMCACHED_URL: 'memcached://127.0.0.1:30000',
      MEMCACHED_HOST: '127.0.0.1',
      MEMCACHED_PORT: '30000',
    })
    assert.deepEqual(Object.keys(variables), kind.injects)
    assert.equal(kind.credentials, undefined)
    assert.deepEqual(kind.secrets, [])
  })

  test('keeps no data, so there is none to delete and none that another version could not read', () => {
    assert.equal(kind.keepsData, false)
    assert.equal(kind.dataObstacle('1.6', '1.5'), null)
    assert.equal(kind.settings.patch.safeParse({ enabled: false, removeData: true }).success, false)
  })

  test('recognises its version as the program prints it', () => {
    const pattern = new RegExp(kind.toolchain!.versionPattern)
    assert.equal(pattern.exec('memcached 1.6.18\n')?.[1], '1.6.18')
    const printed = spawnSync(program(), [...kind.toolchain!.versionArgs], { encoding: 'utf8' }).stdout
    assert.equal(kind.lineOf(pattern.exec(printed)?.[1] ?? ''), '1.6')
  })
})

describe('A Memcached server', () => {
  let machine: Machine
  let input: ServiceInput

  before(async () => {
    machine = { data: {}, secrets: {}, ...(process.getuid?.() === 0 ? { uid: nobody() } : {}) }
    const port = await freePort()
    const server = program()
    input = serviceInput(
      kind,
      {},
      { hostPort: () => port, toolchain: { version: '1.6.18', program: server, directory: dirname(server) } },
    )
  })

  test('greets when it can serve, and keeps what clients write', async () => {
    await withServer(async () => {
      const { health } = kind.toWorkload(input)
      assert.ok(health.kind === 'tcp' && health.greeting !== undefined)
      const answer = await raw(Buffer.from(health.greeting.send, 'base64').toString(), /\r\n/)
      assert.ok(answer.startsWith(Buffer.from(health.greeting.expect, 'base64').toString()), answer)
      assert.equal(await raw('set note 0 0 4\r\nkept\r\n', /\r\n/), 'STORED\r\n')
      assert.equal(await raw('get note\r\n', /END\r\n/), 'VALUE note 0 4\r\nkept\r\nEND\r\n')
    })
  })

  test('listens on nothing that it was not told', async () => {
    await withServer(async () => {
      const settings = await raw('stats settings\r\n', /END\r\n/)
      for (const line of [
        `tcpport ${input.hostPort('memcached')}`,
        'udpport 0',
        'inter 127.0.0.1',
        'maxbytes 67108864',
      ])
        assert.ok(settings.includes(`STAT ${line}\r\n`), `${line}\n${settings}`)
    })
  })

  test('stops within its deadline while a client stays connected, and starts again after a kill', async () => {
    await withServer(async (running) => {
      const socket = connect(input.hostPort('memcached'), '127.0.0.1').on('error', () => {})
      await raw('version\r\n', /\r\n/)
      assert.deepEqual(await running.stop(), { code: 0, signal: null })
      socket.destroy()
    })
    await withServer((running) => running.stop('SIGKILL'))
    await withServer(async () => assert.equal(await raw('get note\r\n', /END\r\n/), 'END\r\n'))
  })

  test('ends when another program has its port, and leaves that alone', async () => {
    await withServer(async () => {
      const second = await start(kind.toWorkload(input), machine)
      const ended = await new Promise((resolve) => second.child.once('close', resolve))
      assert.notEqual(ended, 0)
      assert.match(second.output(), /in use/)
      assert.match(await raw('version\r\n', /\r\n/), /^VERSION /)
    })
  })

  async function withServer(act: (running: Running) => Promise<unknown>): Promise<void> {
    const running = await start(kind.toWorkload(input), machine)
    try {
      await listening(running, input.hostPort('memcached'))
      await act(running)
    } finally {
      await running.stop()
    }
  }

  function raw(bytes: string, until: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = ''
      const socket = connect(input.hostPort('memcached'), '127.0.0.1', () => socket.write(bytes))
      socket.setEncoding('utf8').on('data', (text: string) => {
        answer += text
        if (until.test(answer)) socket.destroy()
      })
      socket.on('error', reject).on('close', () => resolve(answer))
    })
  }
})

function program(): string {
  const found = spawnSync('sh', ['-c', 'command -v memcached'], { encoding: 'utf8' }).stdout.trim()
  assert.ok(found, `Install Memcached for this test: ${kind.install.debian}`)
  return found
}

function nobody(): number {
  return Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout.trim())
}
