import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ServiceInput, serviceTypeOf } from '@stackquay/catalog'
import { revealValue, type Value } from '@stackquay/engine-api'
import { isSoak } from '@stackquay/testkit/rounds'
import { type ChannelModel, connect, type Options } from 'amqplib'
import type { Machine } from './run-workload.ts'
import { type End, type Stage, type Started, serviceFromHere } from './stage.ts'

type Target = string | Options.Connect

const kind = serviceTypeOf('rabbitmq')!
const hostile = `it's "quoted" $HOME \\ %41 #@/ é`
/** After so many milliseconds. A start costs seconds of a processor. */
const killedAfter = isSoak ? [300, 900, 1600, 2400, 3200] : [900, 2400]

/** What RabbitMQ promises for its data, wherever it runs. */
export function rabbitmqJourneys(place: string, open: () => Stage): void {
  describe(`A RabbitMQ server ${place}`, { concurrency: 1 }, () => {
    let stage: Stage
    let machine: Machine
    let input: ServiceInput
    let server: Started | null = null

    before(async () => {
      stage = open()
      machine = stage.project('rabbitmq', { password: hostile })
      input = await stage.service()
    })

    after(async () => {
      await server?.stop()
      await stage.close()
    })

    test('can be killed at any moment of its first start, and starts with what is there', async () => {
      for (const milliseconds of killedAfter) {
        const running = await stage.start(kind.toWorkload(input), machine)
        await new Promise((resolve) => setTimeout(resolve, milliseconds))
        await running.stop('SIGKILL')
      }
      await serving()
      await publish(['first'])
      assert.equal((await publish([])).messageCount, 1)
    })

    test('takes its password, and neither another one nor the user that RabbitMQ makes on its own', async () => {
      await serving()
      await withClient(async () => {})
      await assert.rejects(connect(optionsOf(input, 'wrong')), /ACCESS.REFUSED/)
      await assert.rejects(connect({ ...optionsOf(input, 'guest'), username: 'guest' }), /ACCESS.REFUSED/)
      assert.equal(await management('app', hostile), 200)
      assert.equal(await management('app', 'wrong'), 401)
      assert.equal(await management('guest', 'guest'), 401)
    })

    test('keeps every confirmed message of a durable queue through a stop and a kill', async () => {
      const sent = (name: string) => Array.from({ length: 200 }, (_, index) => `${name} ${index}`)
      const queues = ['classic', 'quorum'] as const
      await serving()
      for (const type of queues) await publish(sent('stopped'), type, type)
      await stopped()
      await serving()
      for (const type of queues) await publish(sent('killed'), type, type)
      await stopped('SIGKILL')
      await serving()
      for (const type of queues)
        assert.deepEqual(await consume(type, 400, undefined, type), [...sent('stopped'), ...sent('killed')])
    })

    test('stops within its deadline while a client stays connected', async () => {
      await serving()
      const client = await connect(optionsOf(input, hostile))
      client.on('error', () => {})
      assert.deepEqual(await stopped(), { code: 0, signal: null })
    })

    test('takes a new password at its next start, and the old one no more, with all that it kept', async () => {
      await serving()
      await publish(['before'], 'rotated')
      await stopped()
      const later = { ...machine, secrets: { password: 'A1b2C3' } }
      await withServer(
        async () => {
          await assert.rejects(connect(optionsOf(input, hostile)), /ACCESS.REFUSED/)
          const url = await revealValue(
            kind.variables(serviceFromHere(input)).RABBITMQ_URL as Value,
            async () => 'A1b2C3',
          )
          assert.deepEqual(await consume('rotated', 1, url), ['before'])
        },
        { machine: later },
      )
    })

    test('opens a copy of its data in another project, beside the first', async () => {
      await serving()
      await publish(['both'], 'copied')
      await stopped()
      const other = await stage.copy(machine, 'rabbitmq', { password: 'other' })
      const twin = await stage.service({}, { project: { ...input.project, id: 'prj_2' } })
      await serving()
      await withServer(
        async () => {
          assert.deepEqual(await consume('copied', 1, optionsOf(twin, 'other')), ['both'])
          await assert.rejects(connect(optionsOf(twin, hostile)), /ACCESS.REFUSED/)
          assert.deepEqual(await consume('copied', 1), ['both'])
        },
        { machine: other, input: twin },
      )
    })

    /** Starts the server unless it runs already: a test that is not about a start goes on with that of the test before. */
    async function serving(): Promise<void> {
      server ??= await stage.start(kind.toWorkload(input), machine)
      try {
        await server.ready()
      } catch (error) {
        // The next test starts its own.
        await stopped('SIGKILL')
        throw error
      }
    }

    async function stopped(signal?: 'SIGKILL'): Promise<End> {
      const running = server!
      server = null
      return running.stop(signal)
    }

    /** One more server, with other secrets or data. */
    async function withServer(
      act: () => Promise<unknown>,
      over: { readonly machine: Machine; readonly input?: ServiceInput },
    ): Promise<void> {
      const running = await stage.start(kind.toWorkload(over.input ?? input), over.machine)
      try {
        await running.ready()
        await act()
      } finally {
        await running.stop()
      }
    }

    /** Sends to a durable queue and waits until all of it is confirmed. */
    async function publish(texts: readonly string[], queue = 'notes', type = 'classic') {
      return withClient(async (client) => {
        const channel = await client.createConfirmChannel()
        const answer = await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': type } })
        for (const text of texts) channel.sendToQueue(queue, Buffer.from(text), { persistent: true })
        await channel.waitForConfirms()
        return answer
      })
    }

    /** Takes what is there, until it is as many as wanted or nothing comes any more. */
    async function consume(queue: string, count: number, target?: Target, type = 'classic'): Promise<string[]> {
      return withClient(async (client) => {
        const channel = await client.createChannel()
        await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': type } })
        const texts: string[] = []
        await new Promise<void>((resolve) => {
          const deadline = setTimeout(resolve, 20_000)
          void channel.consume(queue, (message) => {
            texts.push(message!.content.toString())
            if (texts.length < count) return
            clearTimeout(deadline)
            resolve()
          })
        })
        return texts
      }, target)
    }

    async function withClient<T>(
      act: (client: ChannelModel) => Promise<T>,
      target: Target = optionsOf(input, hostile),
    ): Promise<T> {
      const client = await connect(target)
      client.on('error', () => {})
      try {
        return await act(client)
      } finally {
        await client.close()
      }
    }

    async function management(user: string, password: string): Promise<number> {
      const { status } = await fetch(`http://127.0.0.1:${input.hostPort('management')}/api/whoami`, {
        headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
      })
      return status
    }

    /** Not as a URL: this client reads those byte by byte, and would take one letter beyond ASCII for two. */
    function optionsOf(connection: ServiceInput, password: string): Options.Connect {
      const { host: hostname, port } = serviceFromHere(connection)
      return { hostname, port: port('amqp'), username: 'app', password, vhost: '/' }
    }
  })
}
