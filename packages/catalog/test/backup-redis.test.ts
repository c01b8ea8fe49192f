import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type ServiceInput, serviceTypeOf } from '@stackquay/catalog'
import { waitFor } from '@stackquay/testkit'
import { type Backups, backups, begin, unpack } from './support/backups.ts'
import type { Machine } from './support/run-workload.ts'
import { nativeStage, portsOf, type Stage, type Started } from './support/stage.ts'

const kind = serviceTypeOf('redis')!
const { online, contents } = kind.backup!
const program = '/usr/bin/redis-server'
const printed = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? ''
const version = new RegExp(kind.toolchain!.versionPattern).exec(printed)?.[1]
assert.ok(version, 'Install Redis: apt-get install -y redis-server')

describe('A backup of a running Redis', { concurrency: 1 }, () => {
  let stage: Stage
  let machine: Machine
  let input: ServiceInput
  let running: Started
  let programs: Backups

  before(async () => {
    programs = backups()
    stage = nativeStage(kind, { version: version!, program, directory: dirname(program) })
    machine = stage.project('redis', { password: `old "$ecret" 'é` })
    input = await stage.service()
    running = await started(input, machine)
    ask(input, machine, 'EVAL', filling, '0')
  })

  after(async () => {
    await running?.stop()
    await stage.close()
    programs.close()
  })

  test('has the same in it under another port and another password', async () => {
    const original = await programs.contents(contents!(input)!, machine)
    const copy = stage.project('redis', { password: 'new $ecret' })
    await programs.copyTo(copy, online!(input)!, machine)
    await withCopy(copy, async (moved) => {
      assert.deepEqual(await programs.contents(contents!(moved)!, copy), original)
      assert.equal(ask(moved, copy, 'GET', 'key:7'), 'value 7')
      assert.equal(ask(moved, copy, 'PEXPIRETIME', 'expires'), ask(input, machine, 'PEXPIRETIME', 'expires'))
    })
  })

  test('counts the keys that last, whatever the order of their members', async () => {
    const counted = async () =>
      (await programs.contents(contents!(input)!, machine)) as {
        databases: Record<string, { keys: number; checksum: string; onlyMeasured: number; whole: boolean }>
      }
    const first = (await counted()).databases
    assert.deepEqual(Object.keys(first), ['0', '3'])
    const { checksum, ...rest } = first['0']!
    assert.deepEqual(rest, { keys: 2509, onlyMeasured: 0, whole: true })
    for (const change of [
      ['SET', 'key:7', 'other'],
      ['HSET', 'hash', 'field:7', 'other'],
      ['SREM', 'set', '7'],
      ['ZADD', 'zset', '7.5', '7'],
      ['LSET', 'list', '7', 'other'],
      ['XADD', 'stream', '*', 'a', 'b'],
    ]) {
      const before = (await counted()).databases['0']!.checksum
      ask(input, machine, ...change)
      assert.notEqual((await counted()).databases['0']!.checksum, before, change.join(' '))
    }
    assert.match(checksum, /^\d+$/)
  })

  test('has every write that was acknowledged before it began, while clients write and ask for rewrites', async () => {
    const copy = stage.project('redis', { password: machine.secrets.password! })
    const load = await writing(input, machine)
    await waitFor('some writes', async () => load.acknowledged() > 200)
    ask(input, machine, 'CONFIG', 'SET', 'auto-aof-rewrite-percentage', '77')
    ask(input, machine, 'BGREWRITEAOF')
    const before = load.acknowledged()
    const taken = await begin(online!(input)!, machine)
    const percentage = () => ask(input, machine, 'CONFIG', 'GET', 'auto-aof-rewrite-percentage').split('\n')[1]
    // Unread: its tar waits, with the files of then, while the server makes others.
    await waitFor('its files', async () => leftovers().length === 1 && percentage() === '77')
    ask(input, machine, 'BGREWRITEAOF')
    await delay(300)
    await unpack(taken, copy)
    await load.stop()
    assert.ok(load.acknowledged() > before, 'nothing was written meanwhile')
    assert.deepEqual(leftovers(), [])
    await withCopy(copy, async (moved) => {
      const last = Number(ask(moved, copy, 'GET', 'load'))
      assert.ok(last >= before, `${last} of ${before}`)
    })
  })

  test('waits for a rewrite that is under way, and leaves automatic ones on when it is ended meanwhile', async () => {
    // Rewriting takes long: each key that the child writes costs it a moment.
    ask(input, machine, 'CONFIG', 'SET', 'rdb-key-save-delay', '2000')
    ask(input, machine, 'BGREWRITEAOF')
    const taken = await begin(online!(input)!, machine)
    const percentage = () => ask(input, machine, 'CONFIG', 'GET', 'auto-aof-rewrite-percentage').split('\n')[1]
    await waitFor('automatic rewrites to be off', async () => percentage() === '0')
    await delay(500)
    assert.deepEqual(leftovers(), [])
    process.kill(-taken.child.pid!, 'SIGTERM')
    await assert.rejects(taken.succeeded())
    assert.equal(percentage(), '77')
    ask(input, machine, 'CONFIG', 'SET', 'rdb-key-save-delay', '0')
    await waitFor('the rewrite to end', async () =>
      /aof_rewrite_in_progress:0/.test(ask(input, machine, 'INFO', 'persistence')),
    )
  })

  test('removes what a killed one left', async () => {
    mkdirSync(join(machine.data.redis!, 'copy-999999999'))
    const copy = stage.project('redis', { password: 'any' })
    await programs.copyTo(copy, online!(input)!, machine)
    assert.deepEqual(leftovers(), [])
    assert.deepEqual(readdirSync(copy.data.redis!), ['appendonlydir'])
  })

  test('is refused with the words of the server, or when nothing is kept', async () => {
    const nowhere = stage.project('redis', { password: 'any' })
    const wrong = { ...machine, secrets: { password: 'wrong' } }
    await assert.rejects(programs.copyTo(nowhere, online!(input)!, wrong), /NOAUTH|WRONGPASS/)
    await assert.rejects(programs.contents(contents!(input)!, wrong), /NOAUTH|WRONGPASS/)
    ask(input, machine, 'CONFIG', 'SET', 'appendonly', 'no')
    await assert.rejects(programs.copyTo(nowhere, online!(input)!, machine), /turned the append-only file.*off/)
  })

  const leftovers = () => readdirSync(machine.data.redis!).filter((name) => name.startsWith('copy-'))

  async function started(of: ServiceInput, on: Machine): Promise<Started> {
    const server = await stage.start(kind.toWorkload(of), on)
    await server.ready()
    return server
  }

  async function withCopy(copy: Machine, act: (input: ServiceInput) => Promise<unknown>): Promise<void> {
    const port = await portsOf(kind)
    const moved = {
      ...input,
      port,
      hostPort: port,
      listen: () => ({ address: '127.0.0.1' as const, port: port('redis') }),
    }
    const server = await started(moved, copy)
    try {
      await act(moved)
    } finally {
      await server.stop()
    }
  }
})

/** More of each than is kept as one piece: those have an order of their own at each start. */
const filling = `
  for i = 1, 2500 do redis.call('SET', 'key:' .. i, 'value ' .. i) end
  for i = 1, 1000 do
    redis.call('HSET', 'hash', 'field:' .. i, i)
    redis.call('SADD', 'set', i, 'text ' .. i)
    redis.call('ZADD', 'zset', i, i)
    redis.call('RPUSH', 'list', i)
    redis.call('XADD', 'stream', i .. '-1', 'n', i)
  end
  -- More than pipes hold, also as the compressed file that a rewrite makes: a program that has ended is read to its end by Node,
  -- whether somebody listens or not.
  for i = 1, 4 do
    local words = {}
    for j = 1, 26214 do words[j] = redis.sha1hex(i .. ':' .. j) end
    redis.call('SET', 'large:' .. i, table.concat(words))
  end
  redis.call('SET', 'expires', 'some day', 'EX', 100000)
  redis.call('SELECT', 3)
  redis.call('SET', 'there', 'too')
  return 'OK'`

function ask(input: ServiceInput, { secrets }: Machine, ...words: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync('redis-cli', ['-p', String(input.hostPort('redis')), ...words], {
    encoding: 'utf8',
    env: { ...process.env, REDISCLI_AUTH: secrets.password },
  })
  assert.equal(status, 0, stderr)
  assert.doesNotMatch(stdout, /^(ERR|NOAUTH|WRONGPASS)/)
  return stdout.trim()
}

/** One client that counts up; a number is acknowledged when the server has answered it. */
async function writing(input: ServiceInput, { secrets }: Machine) {
  const socket = connect(input.hostPort('redis'), '127.0.0.1')
  const { password } = secrets
  const size = Buffer.byteLength(password!)
  let acknowledged = 0
  let isStopped = false
  const next = `*2\r\n$4\r\nINCR\r\n$4\r\nload\r\n`
  socket.on('data', (answer) => {
    const number = /:(\d+)\r\n/.exec(answer.toString())
    if (number !== null) acknowledged = Number(number[1])
    if (isStopped) socket.end()
    else socket.write(next)
  })
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(`*2\r\n$4\r\nAUTH\r\n$${size}\r\n${password}\r\n`)
  return {
    acknowledged: () => acknowledged,
    stop() {
      isStopped = true
      return closed
    },
  }
}
