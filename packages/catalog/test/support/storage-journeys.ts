import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { Value } from '@stackquay/engine-api'
import { type Stage, type Started, serviceFromHere } from './stage.ts'
import { kind, type StorageMachine, storageMachine } from './storage-machine.ts'

const Bucket = 'app'

/** What the storage promises for its data, wherever it runs. */
export function storageJourneys(place: string, open: () => Stage): void {
  describe(`The storage ${place}`, { concurrency: 1 }, () => {
    let machine: StorageMachine

    before(async () => {
      machine = await storageMachine({}, open())
    })
    after(() => machine?.remove())

    test('is found by an SDK that knows nothing but the variables', async () => {
      await withServer(machine, async () => {
        const variables = kind.variables(
          serviceFromHere({ ...machine.input, secret: (name) => machine.secrets[name] ?? '' }),
        )
        await withEnvironment(variables, async () => {
          const client = new S3Client({})
          await client.send(new PutObjectCommand({ Bucket: process.env.S3_BUCKET, Key: 'a', Body: 'found' }))
          assert.equal(await textOf(client, 'a'), 'found')
          client.destroy()
        })
      })
    })

    test('keeps what it has through stop and start, and ends what it is doing first', async () => {
      const Body = randomBytes(30 * 1024 * 1024)
      await withServer(machine, async (running, client) => {
        await client.send(new PutObjectCommand({ Bucket, Key: 'before', Body }))
        const { ETag } = await client.send(new HeadObjectCommand({ Bucket, Key: 'before' }))
        const url = new URL(await getSignedUrl(client, new PutObjectCommand({ Bucket, Key: 'slowly' })))
        const upload = request(url, { method: 'PUT', headers: { 'content-length': 10 } })
        const answered = once(upload, 'response') as Promise<[IncomingMessage]>
        upload.write('12345')
        const reading = await client.send(new GetObjectCommand({ Bucket, Key: 'before' }))
        await eventually(() => readdirSync(join(machine.data, 'incoming')).length === 1)
        const stopped = running.stop()
        await refusesConnections(machine.endpoint)
        const read = () => reading.Body!.transformToByteArray()
        // The network of a container ends with it, and what has not been received then is lost: there the upload, which the
        // server waits for, ends last.
        const early = machine.stage.inContainers ? await read() : null
        upload.end('67890')
        const [answer] = await answered
        assert.equal(answer.statusCode, 200)
        answer.resume()
        assert.equal(md5(early ?? (await read())), ETag?.replaceAll('"', ''))
        assert.deepEqual(await stopped, { code: 0, signal: null })
      })
      // Closed well it leaves one file: all is in the database itself.
      assert.deepEqual(readdirSync(machine.data).sort(), ['contents', 'incoming', 'storage.sqlite'])
      await withServer(machine, async (_running, client) => {
        assert.equal(await textOf(client, 'slowly'), '1234567890')
        assert.equal(await textOf(client, 'a'), 'found')
      })
    })

    test('is not stopped from stopping by a client that holds its connection', async () => {
      await withServer(machine, async (running) => {
        const idle = request(`${machine.endpoint}/-/health`, { headers: { connection: 'keep-alive' } })
        idle.on('error', () => {})
        idle.end()
        const [answer] = (await once(idle, 'response')) as [IncomingMessage]
        answer.resume()
        await once(answer, 'end')
        const begun = Date.now()
        assert.deepEqual(await running.stop(), { code: 0, signal: null })
        // After 20 seconds it would cut off whoever is left.
        assert.ok(Date.now() - begun < 19_000)
      })
    })

    test('killed while it is written to loses nothing it acknowledged, and shows nothing half', async () => {
      /** What is acknowledged last of each key, and what may have come since. */
      const acknowledged = new Map<string, string>()
      for (let round = 0; round < 4; round += 1) {
        await withServer(machine, async (running, client) => {
          let killed = false
          let writes = 0
          const writer = async (number: number) => {
            for (let at = 0; !killed; at += 1) {
              const Key = `round/${number}/${at % 20}`
              const Body = randomBytes(1 + ((at * 7919) % 200_000))
              const deletes = at % 7 === 6
              try {
                if (deletes) await client.send(new DeleteObjectCommand({ Bucket, Key }))
                else await client.send(new PutObjectCommand({ Bucket, Key, Body }))
                acknowledged.set(Key, deletes ? 'deleted' : md5(Body))
                writes += 1
              } catch {
                // Not acknowledged: either state is right.
                acknowledged.delete(Key)
                if (!killed) throw new Error('A write failed before the server was killed.')
              }
            }
          }
          const writers = Array.from({ length: 8 }, (_, number) => writer(number))
          // Always at another place of what it does.
          await eventually(() => writes > 60 + round * 37)
          killed = true
          await running.stop('SIGKILL')
          await Promise.all(writers)
        })
        await withServer(machine, async (_running, client) => {
          const listed = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'round/' }))
          const found = new Map(listed.Contents?.map(({ Key, ETag }) => [Key!, ETag!.replaceAll('"', '')]))
          for (const [Key, expected] of acknowledged) assert.equal(found.get(Key) ?? 'deleted', expected, Key)
          for (const [Key, etag] of found) {
            const got = await client.send(new GetObjectCommand({ Bucket, Key }))
            assert.equal(md5(await got.Body!.transformToByteArray()), etag, Key)
          }
        })
      }
      // What the killed ones left over goes: one file for each object, nothing else.
      await withServer(machine, async (_running, client) => {
        const { KeyCount } = await client.send(new ListObjectsV2Command({ Bucket }))
        await eventually(() => contentFiles(machine).length === KeyCount)
        assert.deepEqual(readdirSync(join(machine.data, 'incoming')), [])
      })
    })

    test('goes on with a multipart upload after it was killed', async () => {
      const Key = 'parts'
      const bodies = [Buffer.alloc(5 * 1024 * 1024, 'a'), Buffer.from('end')]
      let UploadId: string | undefined
      await withServer(machine, async (running, client) => {
        UploadId = (await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId
        await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: bodies[0]! }))
        await running.stop('SIGKILL')
      })
      await withServer(machine, async (running, client) => {
        await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 2, Body: bodies[1]! }))
        const { Parts } = await client.send(new ListPartsCommand({ Bucket, Key, UploadId }))
        assert.deepEqual(
          Parts?.map(({ Size }) => Size),
          bodies.map(({ length }) => length),
        )
        const MultipartUpload = { Parts: Parts?.map(({ PartNumber, ETag }) => ({ PartNumber, ETag })) ?? [] }
        await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
        await running.stop('SIGKILL')
      })
      await withServer(machine, async (_running, client) => {
        const got = await client.send(new GetObjectCommand({ Bucket, Key }))
        assert.equal(md5(await got.Body!.transformToByteArray()), md5(Buffer.concat(bodies)))
        await assert.rejects(
          client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
          /NoSuchUpload|completed/,
        )
      })
    })

    test('takes new keys at its next start, refuses the old ones, and keeps the data', async () => {
      const old = machine.client()
      // What is generated has letters and digits; a program must not care.
      machine.secrets = { accessKey: 'NEWKEY/with+signs', secretKey: `it's "quoted" $HOME \\ %41 #@/ é` }
      await withServer(machine, async (_running, client) => {
        assert.equal(await textOf(client, 'a'), 'found')
        await assert.rejects(textOf(old, 'a'), { name: 'InvalidAccessKeyId' })
        const half = machine.client({ credentials: { accessKeyId: 'NEWKEY/with+signs', secretAccessKey: 'secret' } })
        await assert.rejects(half.send(new ListBucketsCommand({})), { name: 'SignatureDoesNotMatch' })
        half.destroy()
      })
      old.destroy()
    })
  })

  describe(`A bucket that was made public ${place}`, () => {
    test('is read without a signature, stays so, and a private one does not become public by the setting', async () => {
      const opened = await storageMachine({ publicRead: true }, open())
      const closed = await storageMachine({}, open())
      const status = async (machine: StorageMachine, path: string) => {
        const answer = await fetch(`${machine.endpoint}${path}`)
        return [answer.status, await answer.text()] as const
      }
      try {
        for (const machine of [opened, closed]) {
          await withServer(machine, (_running, client) =>
            client.send(new PutObjectCommand({ Bucket, Key: 'page', Body: 'hello' })),
          )
        }
        const asPublic: StorageMachine = { ...closed, spec: withPublicRead(closed) }
        const asPrivate: StorageMachine = { ...opened, spec: withoutPublicRead(opened) }
        await withServer(asPrivate, async () => {
          assert.deepEqual(await status(opened, '/app/page'), [200, 'hello'])
          assert.equal((await status(opened, '/app'))[0], 403)
          assert.equal((await status(opened, '/app/other'))[0], 403)
        })
        await withServer(asPublic, async () => assert.equal((await status(closed, '/app/page'))[0], 403))
      } finally {
        await opened.remove()
        await closed.remove()
      }
    })
  })

  describe(`A storage without space ${place}`, () => {
    let machine: StorageMachine

    before(async () => {
      machine = await storageMachine({}, open())
    })
    after(() => machine?.remove())

    // The largest size of a file stands for the end of the disk: the same failing write, without a disk of its own.
    test('says so, keeps what it has, and takes what fits', async () => {
      const argv = ['/bin/sh', '-c', 'ulimit -f 8192; exec "$@"', 'sh', ...machine.spec.run.argv] as const
      const limited: StorageMachine = {
        ...machine,
        spec: {
          ...machine.spec,
          run: { ...machine.spec.run, argv: argv as unknown as readonly [string, ...string[]] },
        },
      }
      const kept: string[] = []
      const running = await machine.started(limited.spec)
      const client = machine.client()
      try {
        await client.send(new PutObjectCommand({ Bucket, Key: 'large', Body: 'small at first' }))
        const Body = Buffer.alloc(20 * 1024 * 1024)
        for (const send of [Body, Readable.from([Body])]) {
          const put = client.send(
            new PutObjectCommand({ Bucket, Key: 'large', Body: send, ContentLength: Body.length }),
          )
          await assert.rejects(put, (error: Error & { $metadata?: { httpStatusCode?: number } }) => {
            assert.deepEqual([error.name, error.$metadata?.httpStatusCode], ['StorageFull', 507])
            return true
          })
        }
        assert.equal(await textOf(client, 'large'), 'small at first')
        assert.deepEqual(readdirSync(join(machine.data, 'incoming')), [])
        for (let at = 0; at < 50; at += 1) {
          await client.send(new PutObjectCommand({ Bucket, Key: `small-${at}`, Body: `${at}` }))
          kept.push(`small-${at}`)
        }
      } finally {
        await running.stop('SIGKILL')
        client.destroy()
      }
      await withServer(machine, async (_running, other) => {
        assert.equal(await textOf(other, 'large'), 'small at first')
        for (const Key of kept) assert.equal(await textOf(other, Key), Key.slice(6))
      })
    })
  })
}

async function withServer<T>(
  machine: StorageMachine,
  act: (running: Started, client: S3Client) => Promise<T>,
): Promise<T> {
  const running = await machine.started(machine.spec)
  const client = machine.client()
  try {
    return await act(running, client)
  } finally {
    client.destroy()
    await running.stop()
  }
}

function withPublicRead({ spec }: StorageMachine): StorageMachine['spec'] {
  return { ...spec, run: { ...spec.run, argv: [...spec.run.argv, '--public-read'] } }
}

function withoutPublicRead({ spec }: StorageMachine): StorageMachine['spec'] {
  const [program, ...rest] = spec.run.argv
  return { ...spec, run: { ...spec.run, argv: [program, ...rest.filter((word) => word !== '--public-read')] } }
}

async function withEnvironment(variables: Readonly<Record<string, Value>>, act: () => Promise<void>): Promise<void> {
  const before = { ...process.env }
  for (const [name, value] of Object.entries(variables)) process.env[name] = String(value)
  try {
    await act()
  } finally {
    for (const name of Object.keys(variables)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

async function textOf(client: S3Client, Key: string): Promise<string> {
  const got = await client.send(new GetObjectCommand({ Bucket, Key }))
  return got.Body!.transformToString()
}

function contentFiles({ data }: StorageMachine): readonly string[] {
  return readdirSync(join(data, 'contents'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
}

async function refusesConnections(endpoint: string): Promise<void> {
  const deadline = Date.now() + 120_000
  while (Date.now() < deadline) {
    const answered = await fetch(`${endpoint}/-/health`).then(
      () => true,
      () => false,
    )
    if (!answered) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.fail('It still takes connections.')
}

async function eventually(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!holds()) {
    assert.ok(Date.now() < deadline, 'It did not come true within two minutes.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function md5(content: Uint8Array): string {
  return createHash('md5').update(content).digest('hex')
}
