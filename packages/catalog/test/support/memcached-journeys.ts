import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceTypeOf } from '@stackquay/catalog'
import type { Machine } from './run-workload.ts'
import type { Stage, Started } from './stage.ts'

const kind = serviceTypeOf('memcached')!

/** What Memcached promises, wherever it runs. */
export function memcachedJourneys(place: string, open: () => Stage): void {
  describe(`A Memcached server ${place}`, { concurrency: 1 }, () => {
    let stage: Stage
    let machine: Machine
    let input: ServiceInput

    before(async () => {
      stage = open()
      machine = stage.project('memcached', {})
      input = await stage.service()
    })

    after(() => stage.close())

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
          `tcpport ${input.listen('memcached').port}`,
          'udpport 0',
          `inter ${input.listen('memcached').address}`,
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

    async function withServer(act: (running: Started) => Promise<unknown>): Promise<void> {
      const running = await stage.start(kind.toWorkload(input), machine)
      try {
        await running.ready()
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
}
