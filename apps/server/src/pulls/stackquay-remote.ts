import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { ProblemError, type PullDatabase } from '@stackquay/contract'
import { checkedArchive } from '@stackquay/engine-api'
import { TargetError } from '@stackquay/targets'
import { request as httpRequest } from '../http/node-http.ts'
import { remoteLookup } from './addresses.ts'
import type { PullRemote } from './pull-remote.ts'
import { shown } from './remote-problem.ts'
import { below, tarEntries } from './tar-reader.ts'

interface Access {
  readonly origin: string
  readonly project: string
  readonly token: string
}

/** A project of another Stackquay, by its API. Asked with GET alone. */
export function stackquayRemote({ origin, project, token }: Access): PullRemote {
  const host = new URL(origin).host
  const get = (path: string, signal: AbortSignal) =>
    answer(new URL(`/api/v1/projects/${encodeURIComponent(project)}${path}`, origin), token, signal)
  const json = async <Body>(path: string, signal: AbortSignal): Promise<Body> => {
    const text = await textOf(await get(path, signal), mostJson)
    try {
      return JSON.parse(text) as Body
    } catch {
      throw new TargetError('damaged', `${host} answers with something else than a Stackquay.`)
    }
  }
  const exportPath = ({ database = '' }: PullDatabase) => `/databases/${encodeURIComponent(database)}/export`
  const newest = async (signal: AbortSignal): Promise<Backup> => {
    const { items } = await json<{ items?: readonly Backup[] }>('/backups?limit=50', signal)
    const found = (Array.isArray(items) ? items : []).find(
      (one: Backup) => Array.isArray(one?.parts) && one.parts.some((part) => part?.id === 'files'),
    )
    if (found === undefined || !/^bak_[a-z0-9]{10,40}$/.test(found.id))
      throw new TargetError('missing', `The project ${project} on ${host} has no backup with files. Make one there.`)
    return found
  }

  return {
    look: async (from, signal) => {
      const response = await get(`${exportPath(from)}?check=true`, signal)
      response.destroy()
      return { name: `${from.database} of ${project} on ${host}`, bytes: null }
    },
    read: async function* (from, signal) {
      yield* contentOf(await get(`${exportPath(from)}?compress=zstd`, signal), host, signal)
    },
    lookFiles: async (_folder, signal) => {
      const { id, createdAt } = await newest(signal)
      return { name: `the backup ${id} of ${shown(String(createdAt))}`, bytes: null }
    },
    archive: async function* (folder, leftOut, signal) {
      const { id } = await newest(signal)
      const download = contentOf(await get(`/backups/${id}/download`, signal), host, signal)
      const files = Readable.from(partOf(download, filesName), { objectMode: false })
      const unpacked = createZstdDecompress()
      files.on('error', (error) => unpacked.destroy(error))
      yield* below(checkedArchive(files.pipe(unpacked)), folder.replace(/^\.?\/+|\/+$/g, ''), leftOut)
    },
    close: async () => undefined,
  }
}

interface Backup {
  readonly id: string
  readonly createdAt: string
  readonly parts: readonly { readonly id: string }[]
}

const filesName = 'files.tar.zst'
const mostJson = 8 << 20
/** As long as a database may take to begin with its dump. */
const silentMs = 300_000

function answer(url: URL, token: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  const unreachable = (error: Error) =>
    reject(
      signal.aborted
        ? signal.reason
        : new TargetError('unreachable', `${url.host} cannot be reached: ${error.message}`, { cause: error }),
    )
  const request = send(
    url,
    {
      headers: { authorization: `Bearer ${token}`, accept: '*/*', 'user-agent': 'Stackquay-Pull/1' },
      agent: false,
      lookup: remoteLookup,
      signal,
      timeout: silentMs,
      maxHeaderSize: 16 * 1024,
    },
    // Redirects are not followed: the token is for the address that was named.
    (response) => {
      const { statusCode = 0 } = response
      if (statusCode === 200 || statusCode === 204) return resolve(response)
      refusal(url.host, statusCode, response).then(reject, reject)
    },
  )
  request.on('timeout', () => request.destroy(new Error('it said nothing for too long')))
  request.on('error', unreachable)
  request.end()
  return promise
}

async function refusal(host: string, status: number, response: IncomingMessage): Promise<Error> {
  const text = await textOf(response, 64 << 10).catch(() => '')
  let said = ''
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown }
    if (typeof detail === 'string') said = `: ${shown(detail).slice(0, 300)}`
  } catch {
    // Its status says enough.
  }
  if (status >= 500 && status !== 501 && said === '')
    return new TargetError('unreachable', `${host} answers ${status}.`)
  return new ProblemError('remote_refused', `${host} answers ${status}${said}`)
}

async function textOf(response: IncomingMessage, most: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > most) {
      response.destroy()
      throw new TargetError('damaged', 'The answer is larger than it can be.')
    }
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** An answer that breaks off is not whole. */
async function* contentOf(response: IncomingMessage, host: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* response as AsyncIterable<Buffer>
  } catch (error) {
    signal.throwIfAborted()
    throw new TargetError('unreachable', `${host} broke off in the middle.`, { cause: error })
  } finally {
    response.destroy()
  }
  if (!response.complete) throw new TargetError('unreachable', `${host} broke off in the middle.`)
}

/** One part of a backup, held against the checksum in its manifest, which comes last. */
async function* partOf(archive: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let manifest: string | null = null
  for await (const entry of tarEntries(archive)) {
    if (entry.name === name)
      for await (const part of entry.content()) {
        hash.update(part)
        yield part
      }
    else if (entry.name === 'manifest.json') {
      if (entry.size > mostJson) break
      const parts: Buffer[] = []
      for await (const part of entry.content()) parts.push(part)
      manifest = Buffer.concat(parts).toString('utf8')
    }
  }
  const digest = hash.digest('hex')
  const isWhole = manifest !== null && partsOf(manifest).some(({ file, sha256 }) => file === name && sha256 === digest)
  if (!isWhole) throw new TargetError('damaged', 'The backup is not whole, or differs from its checksum.')
}

function partsOf(manifest: string): readonly { readonly file?: unknown; readonly sha256?: unknown }[] {
  try {
    const { parts } = JSON.parse(manifest) as { readonly parts?: unknown }
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}
