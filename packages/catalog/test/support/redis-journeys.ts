import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceTypeOf, type WorkloadSpec } from '@stackquay/catalog'
import { revealValue, type Value } from '@stackquay/engine-api'
import { waitFor } from '@stackquay/testkit'
import type { Machine } from './run-workload.ts'
import { type Stage, type Started, serviceFromHere } from './stage.ts'

const kind = serviceTypeOf('redis')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`

/** What Redis promises for its data, wherever it runs. `place` says it in the title. */
export function redisJourneys(place: string, open: () => Stage): void {
  describe(`A Redis server ${place}`, { concurrency: 1 }, () => {
    let stage: Stage
    let data: string
    let machine: Machine
    let input: ServiceInput

    before(async () => {
      stage = open()
      machine = stage.project('redis', { password: hostile })
      data = machine.data.redis!
      input = await stage.service()
    })

    after(() => stage.close())

    test('takes clients through the URL it gives to programs, and nobody without its password', async () => {
      await withServer(async () => {
        assert.equal(await client(['SET', 'greeting', 'kept']), 'OK')
        assert.equal(await client(['GET', 'greeting']), 'kept')
        assert.match(await client(['GET', 'greeting'], 'wrong'), /WRONGPASS/)
        assert.match(await raw('GET greeting\r\n', /\r\n/), /^-NOAUTH/)
        assert.equal(await client(['CONFIG', 'GET', 'bind']), `bind\n${input.listen('redis').address}`)
      })
    })

    test('gives the user of its health check the right to PING and no other', async () => {
      await withServer(async () => {
        const greeting = Buffer.from(greetingOf(kind.toWorkload(input)).send, 'base64').toString()
        const login = greeting.split('\r\n')[0]
        for (const command of [
          'GET greeting',
          'SET greeting changed',
          'KEYS *',
          'CONFIG GET *',
          'ACL LIST',
          'SHUTDOWN',
        ])
          assert.match(await raw(`${login}\r\n${command}\r\n`, /OK\r\n.+\r\n/), /^\+OK\r\n-NOPERM/, command)
        const wrong = login?.replace(/\S+$/, 'prj_2')
        assert.match(await raw(`${wrong}\r\nPING\r\n`, /\r\n.+\r\n/), /^-WRONGPASS.*\r\n-NOAUTH/)
      })
    })

    test('does not start without a password, for that would be a server that is open to everybody', async () => {
      const running = await stage.start(kind.toWorkload(input), { ...machine, secrets: { password: '' } })
      // It would serve for ever otherwise.
      const deadline = setTimeout(() => running.stop('SIGKILL'), 60_000)
      const { code } = await running.ended()
      clearTimeout(deadline)
      assert.equal(code, 1)
      // What a container printed last may be collected a moment after its end.
      await waitFor('what it says', async () => /There is no password/.test(await running.output()))
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
      const left = ['temp-rewriteaof-bg-12.aof', 'temp-rewriteaof-12.aof', 'temp-12.rdb'].map((name) =>
        join(data, name),
      )
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
      const spec = kind.toWorkload(input)
      const slow = ['key-load-delay 600', 'loading-process-events-interval-bytes 1024'].join('\n')
      const words = spec.run.argv.slice(0, -1)
      const argv = [...words, `${spec.run.argv.at(-1)}\n${slow}`] as unknown as typeof spec.run.argv
      const running = await stage.start({ ...spec, run: { ...spec.run, argv } }, machine)
      try {
        const answers = await greeted(spec)
        assert.match(answers.join(), /^\+OK\r\n-LOADING/)
        assert.equal(await client(['GET', 'before']), 'the stop')
      } finally {
        await running.stop()
      }
    })

    async function withServer(
      act: (running: Started) => Promise<unknown>,
      spec: WorkloadSpec = kind.toWorkload(input),
    ): Promise<void> {
      const running = await stage.start(spec, machine)
      try {
        await running.ready()
        await act(running)
      } finally {
        await running.stop()
      }
    }

    /** Answers to the health check's greeting until it is the expected one; that is not among them. */
    async function greeted(spec: WorkloadSpec): Promise<string[]> {
      const { send, expect } = greetingOf(spec)
      const expected = Buffer.from(expect, 'base64').toString()
      const answers: string[] = []
      for (const deadline = Date.now() + 120_000; ; ) {
        const answer = await raw(Buffer.from(send, 'base64').toString(), /\r\n.+\r\n/).catch(() => '')
        if (answer.startsWith(expected)) return answers
        if (answer !== '') answers.push(answer)
        assert.ok(Date.now() < deadline, `It is not ready: ${answers}`)
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
      const url = await text(kind.variables(serviceFromHere(input)).REDIS_URL!, secret)
      const args = ['-u', url, '--no-auth-warning', ...words]
      const { stdout, stderr } = spawnSync('redis-cli', args, { encoding: 'utf8' })
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
}

function greetingOf(spec: WorkloadSpec): { readonly send: string; readonly expect: string } {
  assert.ok(spec.health.kind === 'tcp' && spec.health.greeting !== undefined)
  return spec.health.greeting
}
