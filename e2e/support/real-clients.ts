import { once } from 'node:events'
import { connect } from 'node:net'
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListBucketsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import amqp from 'amqplib'
import mysql from 'mysql2/promise'
import nodemailer from 'nodemailer'
import { Client as PgClient } from 'pg'
import type { Service } from './service.ts'

/** What a client of one service or database does with it: programs and libraries that people really use. */
export interface RealClient {
  /** The workload and its data. */
  readonly workload: string
  /** Writes something under a name, and returns when it was acknowledged. */
  write(name: string): Promise<void>
  /** Whether what was written under the name is there, whole. */
  holds(name: string): Promise<boolean>
}

/** One for all messages: a queue itself is written down a moment after it was declared, its messages before they are confirmed. */
const queue = 'kept'

type Credentials = Readonly<Record<string, string | number | boolean | null>>

/** Clients of a project's services; each asks for the credentials anew, as they may have been rotated. */
export function serviceClients(service: Service, project: string): Readonly<Record<string, RealClient>> {
  const credentialsOf = (name: string) =>
    service.client.call('getServiceCredentials', { params: { id: project, service: name } })
  return {
    redis: {
      workload: 'redis',
      write: async (name) => {
        await redis(await credentialsOf('redis'), ['SET', name, textOf(name)])
      },
      holds: async (name) => (await redis(await credentialsOf('redis'), ['GET', name])) === textOf(name),
    },
    rabbitmq: {
      workload: 'rabbitmq',
      write: async (name) => {
        await withRabbit(await credentialsOf('rabbitmq'), async (connection) => {
          const channel = await connection.createConfirmChannel()
          await channel.assertQueue(queue, { durable: true })
          channel.sendToQueue(queue, Buffer.from(textOf(name)), { persistent: true })
          await channel.waitForConfirms()
        })
      },
      holds: async (name) =>
        withRabbit(await credentialsOf('rabbitmq'), async (connection) => {
          const channel = await connection.createChannel()
          await channel.assertQueue(queue, { durable: true })
          const texts: string[] = []
          for (let message = await channel.get(queue); message !== false; message = await channel.get(queue))
            texts.push(message.content.toString())
          // All of them go back into the queue.
          channel.nackAll(true)
          return texts.includes(textOf(name))
        }),
    },
    opensearch: {
      workload: 'opensearch',
      write: async (name) => {
        const answer = await search(
          await credentialsOf('opensearch'),
          'PUT',
          `/kept/_doc/${encodeURIComponent(name)}`,
          {
            text: textOf(name),
          },
        )
        if (!answer.ok) throw new Error(await answer.text())
      },
      holds: async (name) => {
        const answer = await search(await credentialsOf('opensearch'), 'GET', `/kept/_doc/${encodeURIComponent(name)}`)
        if (answer.status === 404) return false
        return ((await answer.json()) as { _source?: { text?: string } })._source?.text === textOf(name)
      },
    },
    storage: {
      workload: 'storage',
      write: async (name) => {
        const { s3, bucket } = storage(await credentialsOf('storage'))
        await s3.send(new PutObjectCommand({ Bucket: bucket, Key: `of/${name}`, Body: textOf(name) }))
        s3.destroy()
      },
      holds: async (name) => {
        const { s3, bucket } = storage(await credentialsOf('storage'))
        try {
          const found = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: `of/${name}` }))
          return (await found.Body!.transformToString()) === textOf(name)
        } catch (error) {
          if ((error as { name?: string }).name === 'NoSuchKey') return false
          throw error
        } finally {
          s3.destroy()
        }
      },
    },
    mailpit: {
      workload: 'mailpit',
      write: async (name) => {
        const { status } = await service.client.call('getProject', { params: { id: project } })
        const ports = status.workloads.find((workload) => workload.name === 'mailpit')?.ports
        const transport = nodemailer.createTransport({
          host: '127.0.0.1',
          port: ports?.find((port) => port.name === 'smtp')?.hostPort ?? 0,
        })
        await transport.sendMail({
          from: 'shop@example.test',
          to: 'ada@example.test',
          subject: name,
          text: textOf(name),
        })
        transport.close()
      },
      holds: async (name) => {
        const found = await service.client.call('listMail', { params: { id: project }, query: { limit: 200 } })
        const mail = found.items.find((item) => item.subject === name)
        if (mail === undefined) return false
        const { text } = await service.client.call('getMail', { params: { id: project, message: mail.id } })
        return text?.trim() === textOf(name)
      },
    },
  }
}

/** A client of a database by its name. */
export function databaseClient(service: Service, project: string, type: string, name: string): RealClient {
  const query = async (sql: string, values: readonly string[] = []) => {
    const { url } = await service.client.call('getDatabaseCredentials', { params: { id: project, db: name } })
    return url.startsWith('postgresql:') ? queryPostgres(url, sql, values) : queryMysql(url, sql, values)
  }
  return {
    workload: `${type}-${name}`,
    write: async (row) => {
      await query('CREATE TABLE IF NOT EXISTS kept (name VARCHAR(100) PRIMARY KEY, words TEXT)')
      await query('INSERT INTO kept (name, words) VALUES (?, ?)', [row, textOf(row)])
    },
    holds: async (row) => {
      const rows = await query('SELECT words FROM kept WHERE name = ?', [row]).catch((error: { code?: string }) => {
        if (error.code === '42P01' || error.code === 'ER_NO_SUCH_TABLE') return []
        throw error
      })
      return rows[0]?.words === textOf(row)
    },
  }
}

/** Whether a service that keeps nothing answers. */
export async function memcachedAnswers(port: number): Promise<boolean> {
  const text = await converse(port, 'set greeting 0 0 5\r\nhello\r\nget greeting\r\nquit\r\n')
  return text.includes('VALUE greeting 0 5\r\nhello\r\n')
}

export function storage(credentials: Credentials): { readonly s3: S3Client; readonly bucket: string } {
  const s3 = new S3Client({
    endpoint: String(credentials.endpoint),
    region: String(credentials.region ?? 'us-east-1'),
    forcePathStyle: true,
    credentials: { accessKeyId: String(credentials.accessKey), secretAccessKey: String(credentials.secretKey) },
  })
  return { s3, bucket: String(credentials.bucket) }
}

export { CreateBucketCommand, ListBucketsCommand }

/** Not only letters, so that what comes back shows that nothing was changed on the way. */
function textOf(name: string): string {
  return `${name}: "quoted" $HOME \\ é 😀`
}

/** What Redis answers to one command, where that is a string. */
export async function redis(credentials: Credentials, command: readonly string[]): Promise<string | null> {
  const words = (list: readonly string[]) =>
    `*${list.length}\r\n${list.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
  const login = words(['AUTH', String(credentials.username), String(credentials.password)])
  const answer = await converse(Number(credentials.port), login + words(command) + words(['QUIT']))
  const [auth, ...rest] = answer.split('\r\n')
  if (auth !== '+OK') throw new Error(`redis: ${auth}`)
  if (rest[0]?.startsWith('-') === true) throw new Error(`redis: ${rest[0]}`)
  return rest[0]?.startsWith('$') === true && rest[0] !== '$-1' ? (rest[1] ?? null) : null
}

async function converse(port: number, words: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.end(words)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

function search({ url }: Credentials, method: string, path: string, body?: object): Promise<Response> {
  const { origin, username, password } = new URL(String(url))
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  })
}

async function withRabbit<T>(
  credentials: Credentials,
  use: (connection: Awaited<ReturnType<typeof amqp.connect>>) => Promise<T>,
): Promise<T> {
  const connection = await amqp.connect(String(credentials.url))
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}

type Rows = readonly Readonly<Record<string, unknown>>[]

async function queryPostgres(url: string, sql: string, values: readonly string[]): Promise<Rows> {
  const client = new PgClient({ connectionString: url })
  await client.connect()
  try {
    let number = 0
    const { rows } = await client.query(
      sql.replaceAll('?', () => `$${++number}`),
      [...values],
    )
    return rows
  } finally {
    await client.end()
  }
}

async function queryMysql(url: string, sql: string, values: readonly string[]): Promise<Rows> {
  const connection = await mysql.createConnection(url)
  try {
    const [rows] = await connection.query(sql, [...values])
    return Array.isArray(rows) ? (rows as Rows) : []
  } finally {
    await connection.end()
  }
}
