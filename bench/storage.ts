import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { programFile } from '@stackquay/catalog/folders'
import type { Bar, Benchmark } from './benchmark.ts'
import { median, milliseconds, perSecond } from './numbers.ts'

const megabyte = 1_000_000
const Bucket = 'bench'

export const benchmark: Benchmark = {
  title: 'Object storage: throughput and small objects',
  about: `The built-in object storage in a process of its own, with @aws-sdk/client-s3 as its client on the same cores; both compute
checksums. A large object is put in one request with a CRC-32 behind it, put in parts of 16 MB, four at a time, and got. "Disk" is
what a program gets that writes the same bytes to a file beside it and waits until they are on disk, in the same rounds. Small
objects have 4 KB, each on disk when its put is answered.`,
  measure: async ({ quick }) => {
    const [rounds, size, count] = quick ? [1, 20 * megabyte, 100] : [5, 200 * megabyte, 1000]
    const folder = mkdtempSync(join(import.meta.dirname, '..', 'node_modules', '.cache', 'bench-storage-'))
    const server = await startServer(folder)
    try {
      const { client } = server
      const content = randomBytes(size)
      const rates = { disk: [] as number[], put: [] as number[], parts: [] as number[], get: [] as number[] }
      const rate = async (act: () => Promise<unknown>) => {
        const began = performance.now()
        await act()
        return size / megabyte / ((performance.now() - began) / 1000)
      }
      for (let round = 0; round < rounds; round += 1) {
        rates.disk.push(await rate(() => toDisk(join(folder, 'plain'), content)))
        rates.put.push(await rate(() => put(client, content)))
        rates.parts.push(await rate(() => putInParts(client, content)))
        rates.get.push(await rate(() => get(client, content)))
      }
      const small = await smallObjects(client, count)
      const disk = median(rates.disk)
      const row = (name: string, list: readonly number[]) => [
        name,
        `${Math.round(median(list))} MB/s`,
        `${(median(list) / disk).toFixed(2)} × disk`,
      ]
      const bars: Bar[] = [
        faster('Upload of a large object in parts', median(rates.parts), 150),
        faster('Download of a large object', median(rates.get), 150),
      ]
      return {
        tables: [
          [
            [`${size / megabyte} MB`, 'throughput', 'against the disk'],
            row('written to a file, and synced', rates.disk),
            row('put in one request', rates.put),
            row('put in parts', rates.parts),
            row('got', rates.get),
          ],
          [[`${count} objects of 4 KB`, 'rate', 'median of one'], ...small],
        ],
        bars,
      }
    } finally {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function faster(what: string, value: number, limit: number): Bar {
  return { what, measured: `${Math.round(value)} MB/s`, bar: `≥ ${limit} MB/s`, kept: value >= limit }
}

async function toDisk(file: string, content: Buffer): Promise<void> {
  const handle = await open(file, 'w')
  for (const block of blocks(content)) await handle.writeFile(block)
  await handle.datasync()
  await handle.close()
  rmSync(file)
}

function* blocks(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += megabyte) yield content.subarray(at, at + megabyte)
}

/** As an application streams a file: the checksum comes behind the content. */
async function put(client: S3Client, content: Buffer): Promise<void> {
  const Body = Readable.from(blocks(content))
  await client.send(new PutObjectCommand({ Bucket, Key: 'large', Body, ContentLength: content.length }))
}

async function putInParts(client: S3Client, content: Buffer): Promise<void> {
  const params = { Bucket, Key: 'large', Body: content }
  await new Upload({ client, params, partSize: 16 * 1024 * 1024, queueSize: 4 }).done()
}

async function get(client: S3Client, content: Buffer): Promise<void> {
  const answer = await client.send(new GetObjectCommand({ Bucket, Key: 'large' }))
  let size = 0
  for await (const chunk of answer.Body as Readable) size += (chunk as Buffer).length
  if (size !== content.length) throw new Error('What was got is not what was put.')
}

async function smallObjects(client: S3Client, count: number): Promise<string[][]> {
  const Body = randomBytes(4096)
  const etag = `"${createHash('md5').update(Body).digest('hex')}"`
  const act = async (name: string, atOnce: number, one: (key: string) => Promise<unknown>) => {
    const times: number[] = []
    const began = performance.now()
    let next = 0
    const worker = async () => {
      for (let at = next++; at < count; at = next++) {
        const start = performance.now()
        await one(`small/${at}`)
        times.push(performance.now() - start)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
    return [name, `${perSecond(count / ((performance.now() - began) / 1000))}/s`, milliseconds(median(times))]
  }
  const putOne = (Key: string) => client.send(new PutObjectCommand({ Bucket, Key, Body }))
  const getOne = async (Key: string) => {
    const answer = await client.send(new GetObjectCommand({ Bucket, Key }))
    await answer.Body!.transformToByteArray()
    if (answer.ETag !== etag) throw new Error('What was got is not what was put.')
  }
  const rows = [
    await act('put, one after the other', 1, putOne),
    await act('put, 32 at a time', 32, putOne),
    await act('got, 32 at a time', 32, getOne),
  ]
  const began = performance.now()
  const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'small/' }))
  rows.push([`listed (${page.KeyCount})`, '', milliseconds(performance.now() - began)])
  const Delete = { Quiet: true, Objects: page.Contents?.map(({ Key }) => ({ Key: Key! })) ?? [] }
  const deleting = performance.now()
  await client.send(new DeleteObjectsCommand({ Bucket, Delete }))
  rows.push(['deleted in one request', '', milliseconds(performance.now() - deleting)])
  return rows
}

async function startServer(folder: string) {
  const env = { PATH: process.env.PATH, STORAGE_ACCESS_KEY: 'bench', STORAGE_SECRET_KEY: 'benchmark' }
  const args = ['--disable-warning=ExperimentalWarning', programFile('object-storage'), '--data', folder]
  const child: ChildProcess = spawn(process.execPath, [...args, '--port', '0', '--bucket', Bucket], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  const endpoint = line.slice(line.indexOf('http://'))
  const credentials = { accessKeyId: env.STORAGE_ACCESS_KEY, secretAccessKey: env.STORAGE_SECRET_KEY }
  const client = new S3Client({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 })
  return {
    client,
    stop: async () => {
      client.destroy()
      child.kill('SIGTERM')
      await ended
    },
  }
}
