import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Conversation, converse } from '@stackquay/engine-api/conformance-conversation'
import { oneAccount } from '../src/native/index.ts'
import { parseStat } from '../src/native/process-table-linux.ts'
import { type NativeHarness, nativeHarness } from './native-harness.ts'

describe('processes of the native engine', () => {
  let harness: NativeHarness
  let talk: Conversation
  before(async () => {
    harness = await nativeHarness()
    talk = await converse(harness, 'secret')
  })
  after(async () => {
    await talk.end()
    await harness.close()
  })

  test('a stop ends a tree that ignores SIGTERM, and a child that left the session', async () => {
    const source = `
      const { spawn } = require('child_process')
      process.on('SIGTERM', () => {})
      const stubborn = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
      spawn(process.execPath, ['-e', stubborn], { stdio: 'ignore' })
      spawn(process.execPath, ['-e', stubborn], { stdio: 'ignore', detached: true }).unref()
      setTimeout(() => console.log('ready'), 300)
      setInterval(() => {}, 1000)`
    const stop = { signal: 'SIGTERM', deadlineSeconds: 0.5 } as const
    const workload = await talk.workload('tree', { run: harness.script(source), health: { kind: 'none' }, stop })
    await talk.start(workload)
    await talk.line(workload.ref, (line) => line.text === 'ready')
    assert.equal((await harness.leftovers()).length, 4)
    await talk.stop(workload)
    assert.deepEqual(await harness.leftovers(), [])
    assert.equal((await talk.observe('tree'))?.lastExit?.signal, 'SIGKILL')
    await talk.remove(workload)
  })

  test('a child that outlives a killed leader is ended, and the end is reported', async () => {
    const workload = await talk.workload('headless')
    const events = talk.watch()
    await talk.start(workload)
    const { pid } = (await talk.observe('headless')) ?? {}
    process.kill(pid ?? 0, 'SIGKILL')
    const event = await events.next((one) => one.type === 'exited')
    assert.ok(event.type === 'exited' && event.exit.signal === 'SIGKILL')
    await talk.start(workload)
    assert.equal((await talk.observe('headless'))?.health, 'healthy')
    assert.equal((await harness.leftovers()).length, 2)
    events.end()
    await talk.remove(workload)
  })

  test('an end by a signal is reported as a signal, also to an instance that did not start the program', async () => {
    const run = harness.script("setTimeout(() => process.kill(process.pid, 'SIGSEGV'), 400)")
    const workload = await talk.workload('segv', { run, health: { kind: 'none' } })
    await talk.start(workload)
    const second = await harness.open()
    const stop = new AbortController()
    for await (const event of second.watch(stop.signal)) {
      if (event.type !== 'exited') continue
      assert.deepEqual([event.exit.code, event.exit.signal], [null, 'SIGSEGV'])
      stop.abort()
    }
    await second.close()
    await talk.remove(workload)
  })

  test('a program runs as the workload user, in a clean environment, with its own HOME', async () => {
    process.env.STACKQUAY_TEST_SECRET = 'leak'
    const source = 'console.log(JSON.stringify([process.getuid(), process.getgroups(), process.env]))'
    const workload = await talk.workload('clean', { run: harness.script(source), health: { kind: 'none' } })
    await talk.start(workload).catch(() => {})
    const line = await talk.line(workload.ref, (one) => one.text.startsWith('['))
    const [uid, groups, env] = JSON.parse(line.text) as [number, number[], Record<string, string>]
    assert.equal(uid, harness.options.accounts.known(talk.project)?.uid ?? process.getuid?.())
    if (harness.hasUsers) assert.deepEqual(groups, [uid])
    const allowed = new Set([
      'PATH',
      'HOME',
      'TMPDIR',
      'LANG',
      'USER',
      'LOGNAME',
      'PORT',
      'STACKQUAY_RUN',
      'PWD',
      'OLDPWD',
      'SHLVL',
      '_',
    ])
    assert.deepEqual(
      Object.keys(env).filter((name) => !allowed.has(name)),
      [],
    )
    assert.equal(env.HOME, `${harness.options.home}/run-home/${talk.project}`)
    delete process.env.STACKQUAY_TEST_SECRET
    await talk.remove(workload)
  })

  test('200 random values arrive byte for byte', async () => {
    const letters = [
      '"',
      "'",
      '$',
      '#',
      '\n',
      '\\',
      '`',
      ' ',
      '\t',
      '=',
      '%',
      '!',
      'ü',
      '🦆',
      '\u0001',
      '\r',
      'a',
      '{',
      '}',
      '*',
      '\u007f',
    ]
    let seed = 20_261_120
    const random = () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return seed / 2 ** 31
    }
    const env = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [
        `VALUE_${at}`,
        Array.from(
          { length: 1 + Math.floor(random() * 40) },
          () => letters[Math.floor(random() * letters.length)],
        ).join(''),
      ]),
    )
    const source =
      "console.log(JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([n]) => n.startsWith('VALUE_')))))"
    const workload = await talk.workload('values', { run: harness.script(source), env, health: { kind: 'none' } })
    await talk.start(workload).catch(() => {})
    const line = await talk.line(workload.ref, (one) => one.text.startsWith('{'))
    assert.deepEqual(JSON.parse(line.text), env)
    await talk.remove(workload)
  })

  test('an environment that no process can have is refused', async () => {
    for (const env of [{ 'A=B': '1' }, { A: 'nul\0' }]) {
      const error = await talk.fails(
        talk.engine.plan({ type: 'start', workload: await talk.workload('impossible', { env }) }),
      )
      assert.equal(error.code, 'engine_cannot')
    }
    const huge = await talk.fails(
      talk.engine.plan({
        type: 'start',
        workload: await talk.workload('impossible', { env: { A: 'x'.repeat(200_000) } }),
      }),
    )
    assert.equal(huge.code, 'engine_cannot')
    await talk.remove(await talk.workload('impossible'))
  })

  test('the port a program listens on instead is named', async () => {
    const other = await harness.freePort()
    const run = harness.script(`require('http').createServer().listen(${other}, '127.0.0.1')`)
    const workload = await talk.workload('elsewhere', { run }, 1)
    const error = await talk.fails(talk.engine.plan({ type: 'start', workload }))
    assert.equal(error.code, 'never_ready')
    assert.match(error.hint, new RegExp(`^It listens on port ${other}\\. Set "port" to ${other}`))
    await talk.remove(workload)
  })

  test('a port that another program took after the start does not count as the workload’s', async () => {
    const workload = await talk.workload('late', { run: harness.programs.hang() }, 20)
    const [start, ready] = talk.engine.plan({ type: 'start', workload })
    assert.ok(start && ready)
    await talk.apply(start)
    const owner = await harness.holdPort(workload.ports[0]?.hostPort ?? 0)
    const error = await talk.fails([ready])
    assert.equal(error.code, 'port_in_use')
    assert.match(error.message, new RegExp(`"node" \\(pid ${owner.pid}\\)`))
    await owner.release()
    await talk.remove(workload)
  })

  test('a program that listens on ::1 alone is reached there', async () => {
    const run = harness.script("require('http').createServer((_, a) => a.end()).listen(process.env.PORT, '::1')")
    const workload = await talk.workload('six', { run })
    await talk.start(workload)
    assert.deepEqual(await talk.engine.address(workload.ref, 'http'), {
      host: '::1',
      port: workload.ports[0]?.hostPort,
    })
    await talk.remove(workload)
  })

  test('names that could leave their directory are refused', async () => {
    const workload = await talk.workload('fine')
    for (const ref of [
      { project: '..', workload: 'web' },
      { project: 'p', workload: '../../etc' },
      { project: '', workload: 'web' },
    ]) {
      const error = await talk.fails([{ id: 's', title: 'Start', do: 'start', workload: { ...workload, ref } }])
      assert.equal(error.code, 'engine_cannot')
    }
    const deletion = { id: 'd', title: 'Delete', do: 'deleteData', project: talk.project, data: '../..' } as const
    assert.equal((await talk.fails([deletion])).code, 'engine_cannot')
  })

  test('root is refused as the workload user', async () => {
    assert.throws(() => oneAccount({ uid: 0, gid: 0 }), { code: 'engine_unavailable' })
  })

  test('a command name with parentheses and spaces does not confuse the process table', () => {
    const tail = Array.from({ length: 40 }, (_, at) => String(at)).join(' ')
    const entry = parseStat(`42 (a) b (c)) S 7 42 43 ${tail}`)
    assert.deepEqual([entry?.pid, entry?.parent, entry?.group, entry?.session, entry?.zombie], [42, 7, 42, 43, false])
    assert.equal(entry?.startTime, '15')
  })
})
