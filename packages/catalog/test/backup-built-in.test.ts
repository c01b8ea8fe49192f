import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { InboxPage, inboxPaths, type ServiceInput, type ServiceType, serviceTypeOf } from '@stackquay/catalog'
import { waitFor } from '@stackquay/testkit'
import { createTransport } from 'nodemailer'
import { type Backups, backups, begin, unpack } from './support/backups.ts'
import type { Machine } from './support/run-workload.ts'
import { nativeStage, portsOf, type Stage, type Started } from './support/stage.ts'

/** A built-in service with load, and copies of it. */
function bench(kind: ServiceType, secrets: Machine['secrets']) {
  const programs: Backups = backups()
  const stage: Stage = nativeStage(kind, null)
  const machine = stage.project(kind.name, secrets)
  let input: ServiceInput
  let running: Started
  const start = async (of: ServiceInput, on: Machine) => {
    const server = await stage.start(kind.toWorkload(of), on)
    await server.ready()
    return server
  }
  return {
    programs,
    machine,
    get input() {
      return input
    },
    empty: () => stage.project(kind.name, secrets),
    contents: (of = input, on = machine) => programs.contents(kind.backup!.contents!(of)!, on),
    online: () => kind.backup!.online!(input)!,
    async open() {
      input = await stage.service({}, { ourProgram: programs.ourProgram })
      running = await start(input, machine)
    },
    async close() {
      await running?.stop()
      await stage.close()
      programs.close()
    },
    async withCopy(copy: Machine, act: (input: ServiceInput) => Promise<unknown>) {
      const hostPort = await portsOf(kind)
      const listen = (port: string) => ({ address: '127.0.0.1' as const, port: hostPort(port) })
      const moved = { ...input, port: hostPort, hostPort, listen }
      const server = await start(moved, copy)
      try {
        await act(moved)
      } finally {
        await server.stop()
      }
    },
  }
}

describe('A backup of a running storage', { concurrency: 1 }, () => {
  const secrets = { accessKey: 'ACCESSKEY0123456789A', secretKey: 'secret0123456789secret0123456789secret01' }
  const desk = bench(serviceTypeOf('storage')!, secrets)
  const Bucket = 'app'
  let client: S3Client

  const clientOf = (input: ServiceInput) =>
    new S3Client({
      endpoint: `http://127.0.0.1:${input.hostPort('http')}`,
      region: 'us-east-1',
      credentials: { accessKeyId: secrets.accessKey, secretAccessKey: secrets.secretKey },
    })

  before(async () => {
    await desk.open()
    client = clientOf(desk.input)
    for (let n = 0; n < 20; n += 1) {
      const Body = String(n).repeat(200_000)
      await client.send(new PutObjectCommand({ Bucket, Key: `some/key ${n}`, Body, Metadata: { n: String(n) } }))
    }
    await client.send(new CopyObjectCommand({ Bucket, Key: 'copied', CopySource: `${Bucket}/some/key 3` }))
    await client.send(new PutObjectCommand({ Bucket, Key: 'empty', Body: '' }))
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'under way' }))
    const part = { Bucket, Key: 'under way', UploadId, PartNumber: 1, Body: 'part' }
    await client.send(new UploadPartCommand(part))
  })

  after(async () => {
    client?.destroy()
    await desk.close()
  })

  test('has the same in it', async () => {
    const original = await desk.contents()
    const { app, ...others } = original.buckets as Record<string, Record<string, unknown>>
    const { checksum, ...counts } = app!
    assert.deepEqual([counts, others], [{ objects: 22, bytes: 6_200_000, read: 22 }, {}])
    assert.deepEqual([original.uploads, original.parts], [1, 1])
    const copy = desk.empty()
    await desk.programs.copyTo(copy, desk.online(), desk.machine)
    await desk.withCopy(copy, async (moved) => assert.deepEqual(await desk.contents(moved, copy), original))
    await client.send(new PutObjectCommand({ Bucket, Key: 'empty', Body: 'x' }))
    const changed = (await desk.contents()).buckets as Record<string, { checksum: string }>
    assert.notEqual(changed.app!.checksum, checksum)
  })

  test('has every object that was acknowledged before it began, whole, while others come, change and go', async () => {
    let acknowledged = -1
    let isStopped = false
    const load = (async () => {
      for (let n = 0; !isStopped; n += 1) {
        const Body = createHash('sha256').update(String(n)).digest('hex').repeat(20)
        await client.send(new PutObjectCommand({ Bucket, Key: `load/${String(n).padStart(6, '0')}`, Body }))
        acknowledged = n
        await client.send(new PutObjectCommand({ Bucket, Key: 'again', Body }))
      }
    })()
    await waitFor('some objects', async () => acknowledged > 20)
    const before = acknowledged
    const copy = desk.empty()
    const taken = await begin(desk.online(), desk.machine)
    // Unread: it is in the middle of it.
    await once(taken.child.stdout!, 'readable')
    for (let n = 0; n < 20; n += 1) await client.send(new DeleteObjectCommand({ Bucket, Key: `some/key ${n}` }))
    await unpack(taken, copy)
    isStopped = true
    await load
    assert.ok(acknowledged > before, 'nothing was written meanwhile')
    await desk.withCopy(copy, async (moved) => {
      const its = clientOf(moved)
      const { Contents = [] } = await its.send(new ListObjectsV2Command({ Bucket, Prefix: 'load/' }))
      assert.ok(Contents.length > before)
      const kept = await its.send(new GetObjectCommand({ Bucket, Key: 'some/key 7' }))
      assert.equal(await kept.Body!.transformToString(), '7'.repeat(200_000))
      const { app } = (await desk.contents(moved, copy)).buckets as Record<string, { objects: number; read: number }>
      assert.equal(app!.read, app!.objects)
      its.destroy()
    })
    // What it kept for the copy alone is gone.
    const named = () => readdirSync(join(desk.machine.data.storage!, 'contents'), { recursive: true }).length
    const expected = () => acknowledged + 1
    await waitFor('removed contents to go', async () => named() < expected() + 8)
  })

  test('goes to nobody without its key, and leaves nothing when it is killed', async () => {
    const address = desk.online().argv.at(-1)!
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const { status } = await fetch(address, { headers })
      assert.equal(status, 403)
    }
    const wrong = { ...desk.machine, secrets: { ...secrets, secretKey: 'wrong' } }
    await assert.rejects(desk.programs.copyTo(desk.empty(), desk.online(), wrong), /answered 403.*AccessDenied/s)
    const incoming = join(desk.machine.data.storage!, 'incoming')
    const taken = await begin(desk.online(), desk.machine)
    await waitFor('its index', async () => readdirSync(incoming).length > 0)
    process.kill(-taken.child.pid!, 'SIGKILL')
    await waitFor('its index to go', async () => readdirSync(incoming).length === 0)
  })
})

describe('A backup of a running mail catcher', { concurrency: 1 }, () => {
  const desk = bench(serviceTypeOf('mailpit')!, { apiKey: 'kEy0123456789' })
  const mail = (n: number) => ({
    ...{ from: 'app@x.example', to: 'person@x.example', subject: `Mail ${n}` },
    text: `body ${n} `.repeat(5_000),
  })

  const api = (input: ServiceInput, path: string, method = 'GET') =>
    fetch(`http://127.0.0.1:${input.hostPort('web')}${path}`, {
      method,
      headers: { authorization: 'Bearer kEy0123456789' },
    })

  before(() => desk.open())
  after(() => desk.close())

  test('has the same in it', async () => {
    const transport = createTransport({ host: '127.0.0.1', port: desk.input.hostPort('smtp'), pool: true })
    for (let n = 0; n < 60; n += 1) await transport.sendMail(mail(n))
    transport.close()
    const original = await desk.contents()
    assert.deepEqual([original.messages, original.read], [60, 60])
    const copy = desk.empty()
    await desk.programs.copyTo(copy, desk.online(), desk.machine)
    await desk.withCopy(copy, async (moved) => assert.deepEqual(await desk.contents(moved, copy), original))
  })

  test('has every mail that was acknowledged before it began, while others come and all are deleted', async () => {
    const transport = createTransport({ host: '127.0.0.1', port: desk.input.hostPort('smtp'), pool: true })
    let acknowledged = (await desk.contents()).messages as number
    let isStopped = false
    const load = (async () => {
      while (!isStopped) {
        await transport.sendMail(mail(acknowledged))
        acknowledged += 1
      }
    })()
    await waitFor('some mails', async () => acknowledged > 70)
    const before = acknowledged
    const copy = desk.empty()
    const taken = await begin(desk.online(), desk.machine)
    // Unread: it is in the middle of it.
    await once(taken.child.stdout!, 'readable')
    const answer = await api(desk.input, inboxPaths.messages, 'DELETE')
    assert.equal(answer.status, 204)
    await delay(50)
    await unpack(taken, copy)
    isStopped = true
    await load
    transport.close()
    await desk.withCopy(copy, async (moved) => {
      const page = InboxPage.parse(await (await api(moved, inboxPaths.messages)).json())
      assert.ok(page.total >= before, `${page.total} of ${before}`)
      const { messages, read } = await desk.contents(moved, copy)
      assert.deepEqual([messages, read], [page.total, page.total])
    })
    const left = InboxPage.parse(await (await api(desk.input, inboxPaths.messages)).json()).total
    const files = () => readdirSync(join(desk.machine.data.mailpit!, 'messages')).length
    await waitFor('the files of deleted mails to go', async () => files() === left)
    assert.ok(existsSync(join(copy.data.mailpit!, 'inbox.sqlite')))
  })
})
