import { chmod, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { Client } from 'pg'
import { redis, storage } from './real-clients.ts'
import type { Service } from './service.ts'

/*
 * What can be wrong in a copy, for each kind of part: something small is lost or another one. `prepare` makes what is lost.
 */

/** The project has a database `main`, Redis and storage, and a folder `planted` with what the faults of files are planted in. */
export interface Planted {
  readonly service: Service
  readonly project: string
  readonly path: string
}

type Fault = readonly [what: string, plant: (on: Planted) => Promise<unknown>]

/** By part; each has as many as the others. */
export const faultsOf: Readonly<Record<string, readonly Fault[]>> = {
  files: [
    ['a file was cut off', ({ path }) => truncate(join(path, 'planted', 'large'), 100_000)],
    ['a byte is another one', ({ path }) => writeFile(join(path, 'planted', 'small'), 'smell')],
    ['a file is missing', ({ path }) => rm(join(path, 'planted', 'lost'))],
    ['a mode is another one', ({ path }) => chmod(join(path, 'planted', 'large'), 0o600)],
    [
      'a link leads elsewhere',
      async ({ path }) => {
        await rm(join(path, 'planted', 'link'))
        await symlink('large', join(path, 'planted', 'link'))
      },
    ],
  ],
  'database:main': [
    ['a table is missing', (on) => sql(on, 'DROP TABLE planted_lost')],
    ['a row is another one', (on) => sql(on, "UPDATE planted SET word = 'other' WHERE n = 500")],
    ['a row is missing', (on) => sql(on, 'DELETE FROM planted WHERE n = 501')],
    ['an index is missing', (on) => sql(on, 'DROP INDEX planted_word')],
    ['two rows have each other’s words', (on) => sql(on, 'UPDATE planted SET word = 1505 - n WHERE n IN (700, 805)')],
  ],
  'service:redis': [
    ['a key is lost', (on) => command(on, ['DEL', 'planted-lost'])],
    ['a value is another one', (on) => command(on, ['SET', 'planted', 'other'])],
    ['an element is missing', (on) => command(on, ['RPOP', 'planted-list'])],
    ['a field is another one', (on) => command(on, ['HSET', 'planted-hash', 'field', 'other'])],
    ['a score is another one', (on) => command(on, ['ZADD', 'planted-set', '2', 'member'])],
  ],
  'service:storage': [
    ['an object was cut off', (on) => put(on, 'planted/large', 'quay '.repeat(999))],
    ['an object is another one', (on) => put(on, 'planted/small', 'smell')],
    ['an object is missing', (on) => drop(on, 'planted/lost')],
    ['a media type is another one', (on) => put(on, 'planted/typed', 'small', 'text/html')],
    ['an empty object is missing', (on) => drop(on, 'planted/empty')],
  ],
}

export async function prepare(on: Planted): Promise<void> {
  const keys = [
    ['SET', 'planted-lost', 'small'],
    ['SET', 'planted', 'small'],
    ['RPUSH', 'planted-list', 'one', 'two'],
    ['HSET', 'planted-hash', 'field', 'small'],
    ['ZADD', 'planted-set', '1', 'member'],
  ]
  for (const words of keys) await command(on, words)
  await sql(
    on,
    `CREATE TABLE planted_lost (n int);
    CREATE TABLE planted (n int PRIMARY KEY, word text);
    INSERT INTO planted SELECT n, n::text FROM generate_series(1, 1000) AS n;
    CREATE INDEX planted_word ON planted (word)`,
  )
  await put(on, 'planted/large', 'quay '.repeat(1000))
  await put(on, 'planted/small', 'small')
  await put(on, 'planted/typed', 'small', 'text/plain')
  await put(on, 'planted/lost', 'small')
  await put(on, 'planted/empty', '')
}

async function sql({ service, project }: Planted, text: string): Promise<void> {
  const { url } = await service.client.call('getDatabaseCredentials', { params: { id: project, db: 'main' } })
  const client = new Client(url)
  await client.connect()
  await client.query(text).finally(() => client.end())
}

async function command({ service, project }: Planted, words: readonly string[]): Promise<void> {
  await redis(await service.client.call('getServiceCredentials', { params: { id: project, service: 'redis' } }), words)
}

async function put(on: Planted, key: string, body: string, type = 'application/octet-stream'): Promise<void> {
  await inStorage(on, (s3, bucket) =>
    s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentType: type })),
  )
}

async function drop(on: Planted, key: string): Promise<void> {
  await inStorage(on, (s3, bucket) => s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })))
}

async function inStorage(
  { service, project }: Planted,
  use: (s3: ReturnType<typeof storage>['s3'], bucket: string) => Promise<unknown>,
): Promise<void> {
  const params = { id: project, service: 'storage' }
  const { s3, bucket } = storage(await service.client.call('getServiceCredentials', { params }))
  await use(s3, bucket).finally(() => s3.destroy())
}
