import type { _Object, S3Client } from '@aws-sdk/client-s3'
import { configOf, type S3Credentials, type S3Settings, told } from '../drivers/s3.ts'
import { TargetError } from '../target.ts'
import {
  deepest,
  exactly,
  type Remote,
  type RemoteDump,
  type RemoteEntry,
  requirePlainName,
  tooMany,
} from './remote.ts'

/** A bucket that is read from. Keys are below the prefix of the settings. */
export async function openS3Remote(settings: S3Settings, credentials: S3Credentials): Promise<Remote> {
  const sdk = await import('@aws-sdk/client-s3')
  const client = new sdk.S3Client(configOf(settings, credentials))
  const { bucket } = settings
  const above = settings.prefix === '' ? '' : `${settings.prefix}/`
  const ask = <Result>(signal: AbortSignal, call: (options: { abortSignal: AbortSignal }) => Promise<Result>) =>
    told(bucket, signal, () => call({ abortSignal: signal }))

  const find = async ({ path, newest }: RemoteDump, signal: AbortSignal) => {
    if (path !== undefined) return stat(`${above}${path.replace(/^\/+/, '')}`, signal)
    const begins = `${above}${(newest ?? '').replace(/^\/+/, '')}`
    let best: _Object | null = null
    for await (const object of objects(sdk, client, bucket, begins, mostObjects, signal))
      if (!object.Key!.endsWith('/') && isNewer(object, best)) best = object
    if (best === null)
      throw new TargetError('missing', `The bucket "${bucket}" has no object that begins with ${begins}.`)
    return { name: best.Key!, bytes: best.Size ?? 0 }
  }
  const stat = async (key: string, signal: AbortSignal) => {
    const found = await ask(signal, (options) =>
      client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }), options).catch((error: unknown) => {
        if (statusOf(error) === 404) throw new TargetError('missing', `The bucket "${bucket}" has no object ${key}.`)
        throw error
      }),
    )
    return { name: key, bytes: found.ContentLength ?? 0 }
  }
  const content = async function* (key: string, size: number, signal: AbortSignal) {
    const { Body } = await ask(signal, (options) =>
      client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: key }), options),
    )
    try {
      yield* exactly(Body as AsyncIterable<Uint8Array>, size, key)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof TargetError) throw error
      throw new TargetError('unreachable', `The storage of "${bucket}" broke off in ${key}.`, { cause: error })
    }
  }

  return {
    look: find,
    read: async function* (dump, signal) {
      const { name, bytes } = await find(dump, signal)
      yield* content(name, bytes, signal)
    },
    walk: async function* (folder, most, signal) {
      const plain = folder.replace(/^\/+|\/+$/g, '')
      const prefix = plain === '' ? above : `${above}${plain}/`
      const known = new Set<string>()
      let entries = 0
      for await (const object of objects(sdk, client, bucket, prefix, most, signal)) {
        entries += 1
        yield* entryOf(object, { prefix, bucket, known, content })
      }
      if (entries === 0) throw new TargetError('missing', `The bucket "${bucket}" has nothing below ${prefix}.`)
    },
    close: async () => client.destroy(),
  }
}

const mostObjects = 200_000

function isNewer(one: _Object, other: _Object | null): boolean {
  return other === null || (one.LastModified?.getTime() ?? 0) > (other.LastModified?.getTime() ?? 0)
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
}

async function* objects(
  sdk: typeof import('@aws-sdk/client-s3'),
  client: S3Client,
  bucket: string,
  prefix: string,
  most: number,
  signal: AbortSignal,
): AsyncGenerator<_Object> {
  let token: string | undefined
  let count = 0
  do {
    const page = await told(bucket, signal, () =>
      client.send(
        new sdk.ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
        { abortSignal: signal },
      ),
    )
    for (const object of page.Contents ?? []) {
      count += 1
      if (count > most) throw tooMany(`The bucket "${bucket}"`, most)
      // A server may answer with anything.
      if (object.Key?.startsWith(prefix) === true) yield object
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}

interface Place {
  readonly prefix: string
  readonly bucket: string
  /** Folders that came already. */
  readonly known: Set<string>
  content(key: string, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array>
}

/** Keys are no paths: one that is none is refused, and what others call folders comes before what is in it. */
function* entryOf({ Key = '', Size = 0, LastModified }: _Object, place: Place): Generator<RemoteEntry> {
  const { prefix, bucket, known, content } = place
  const rest = Key.slice(prefix.length)
  const names = rest.split('/')
  const isFolder = names.at(-1) === ''
  if (isFolder) names.pop()
  if (names.length > deepest) throw new TargetError('damaged', `${Key} in "${bucket}" is too deep.`)
  for (const name of names) requirePlainName(name, `The bucket "${bucket}"`)
  const folders = isFolder ? names : names.slice(0, -1)
  for (let depth = 1; depth <= folders.length; depth += 1) {
    const path = folders.slice(0, depth).join('/')
    if (known.has(path)) continue
    known.add(path)
    yield { path, kind: 'folder' }
  }
  if (isFolder) return
  const modified = Math.floor((LastModified?.getTime() ?? 0) / 1000)
  yield {
    ...{ path: names.join('/'), kind: 'file', size: Size, mode: 0o644, modified },
    read: (signal) => content(Key, Size, signal),
  }
}
