import type { LookupFunction } from 'node:net'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { isObjectName, newest, requireName, type Target, TargetError } from '../target.ts'

export interface S3Settings {
  /** `https://s3.example.com`; null for Amazon’s own. */
  readonly endpoint: string | null
  readonly region: string
  readonly bucket: string
  /** Before all names, without a slash at its ends; empty for none. */
  readonly prefix: string
  /** The bucket in the path instead of the host name, as most servers but Amazon’s want it. */
  readonly pathStyle: boolean
  /** In place of the system’s, where not every address may be connected to. */
  readonly lookup?: LookupFunction
}

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** The library is loaded with the first target of this kind, not before: it needs more memory than the service at rest. */
export async function openS3Target(settings: S3Settings, credentials: S3Credentials): Promise<Target> {
  const sdk = await import('@aws-sdk/client-s3')
  const { bucket, prefix } = settings
  const client = new sdk.S3Client(configOf(settings, credentials))
  const keyOf = (name: string) => (prefix === '' ? requireName(name) : `${prefix}/${requireName(name)}`)
  const at = (name: string) => ({ Bucket: bucket, Key: keyOf(name) })
  const ask = <Result>(signal: AbortSignal, call: (options: { abortSignal: AbortSignal }) => Promise<Result>) =>
    told(bucket, signal, () => call({ abortSignal: signal }))

  return {
    put: (name, bytes, signal) =>
      // The signature holds the checksum of the body, so the server refuses what arrives otherwise.
      ask(signal, async (options) => {
        await client.send(new sdk.PutObjectCommand({ ...at(name), Body: bytes, ContentLength: bytes.length }), options)
      }),
    get: (name, mostBytes, signal) =>
      ask(signal, (options) =>
        orNull(async () => {
          const { Body, ContentLength } = await client.send(new sdk.GetObjectCommand(at(name)), options)
          return readAll(Body as AsyncIterable<Uint8Array>, name, ContentLength, mostBytes)
        }),
      ),
    stat: (name, signal) =>
      ask(signal, (options) =>
        orNull(async () => (await client.send(new sdk.HeadObjectCommand(at(name)), options)).ContentLength ?? 0),
      ),
    list: (folder, signal) =>
      ask(signal, async (options) => {
        const objects = (await listFolder(sdk, client, bucket, keyOf(folder), options)).objects
        return new Map(objects.map(({ name, size }) => [name, size]))
      }),
    folders: (folder, signal) =>
      ask(signal, async (options) => (await listFolder(sdk, client, bucket, keyOf(folder), options)).folders),
    changedAt: (folder, signal) =>
      ask(signal, async (options) => {
        const { objects } = await listFolder(sdk, client, bucket, keyOf(folder), options)
        return newest(objects.map(({ changedAt }) => changedAt))
      }),
    remove: (name, signal) =>
      ask(signal, async (options) => {
        await client.send(new sdk.DeleteObjectCommand(at(name)), options)
      }),
    freeBytes: async () => null,
    close: async () => client.destroy(),
  }
}

/** Attempts are counted outside, where they are told; and nothing is asked for that servers other than Amazon’s may not know. */
export function configOf(
  { endpoint, region, pathStyle, lookup }: S3Settings,
  credentials: S3Credentials,
): S3ClientConfig {
  return {
    ...(endpoint === null ? {} : { endpoint }),
    region,
    forcePathStyle: pathStyle,
    credentials: { ...credentials },
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 15_000,
      socketTimeout: 60_000,
      ...(lookup === undefined ? {} : { httpAgent: { lookup }, httpsAgent: { lookup } }),
    },
  }
}

interface Listed {
  readonly name: string
  readonly size: number
  readonly changedAt: number
}

async function listFolder(
  sdk: typeof import('@aws-sdk/client-s3'),
  client: S3Client,
  bucket: string,
  folder: string,
  options: { readonly abortSignal: AbortSignal },
): Promise<{ readonly objects: readonly Listed[]; readonly folders: readonly string[] }> {
  const objects: Listed[] = []
  const folders: string[] = []
  let token: string | undefined
  do {
    const page = await client.send(
      new sdk.ListObjectsV2Command({
        Bucket: bucket,
        Prefix: `${folder}/`,
        Delimiter: '/',
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
      options,
    )
    for (const { Key = '', Size: size = 0, LastModified } of page.Contents ?? []) {
      const name = Key.slice(folder.length + 1)
      // One that does not say when it was written was written now: nobody takes it for old.
      if (isObjectName(name)) objects.push({ name, size, changedAt: LastModified?.getTime() ?? Date.now() })
    }
    for (const { Prefix = '' } of page.CommonPrefixes ?? []) {
      const name = Prefix.slice(folder.length + 1, -1)
      if (isObjectName(name)) folders.push(name)
    }
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined
  } while (token !== undefined)
  return { objects, folders }
}

async function readAll(
  body: AsyncIterable<Uint8Array>,
  name: string,
  announced: number | undefined,
  mostBytes: number,
): Promise<Buffer> {
  const tooLarge = () => new TargetError('damaged', `${name} is larger than it can be.`)
  if ((announced ?? 0) > mostBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > mostBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

interface Failure {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

async function orNull<Found>(find: () => Promise<Found>): Promise<Found | null> {
  try {
    return await find()
  } catch (error) {
    const { name, $metadata } = error as Failure
    // A HEAD has no body that could say what is not there; whether it is the bucket shows with the next GET or PUT.
    if (name === 'NoSuchKey' || (name === 'NotFound' && $metadata?.httpStatusCode === 404)) return null
    throw error
  }
}

export async function told<Result>(bucket: string, signal: AbortSignal, call: () => Promise<Result>): Promise<Result> {
  try {
    signal.throwIfAborted()
    return await call()
  } catch (error) {
    signal.throwIfAborted()
    // A TypeError is a fault of ours.
    throw error instanceof TargetError || error instanceof TypeError ? error : asTargetError(bucket, error as Failure)
  }
}

function asTargetError(bucket: string, error: Failure): TargetError {
  const cause = { cause: error }
  const status = error.$metadata?.httpStatusCode
  const said = `${error.name ?? 'Error'}: ${error.message ?? ''}`.slice(0, 300)
  if (error.name === 'NoSuchBucket') return new TargetError('missing', `There is no bucket "${bucket}".`, cause)
  if (status === 507 || /quota|InsufficientStorage|XMinioStorageFull|StorageFull/i.test(error.name ?? ''))
    return new TargetError('full', `There is no room in the bucket "${bucket}" (${said}).`, cause)
  const waits = status === undefined || status === 408 || status === 429 || status >= 500
  if (waits && status !== 501)
    return new TargetError('unreachable', `The storage of "${bucket}" does not answer as it should (${said}).`, cause)
  if (status === 404) return new TargetError('missing', `There is no bucket "${bucket}" (${said}).`, cause)
  return new TargetError('refused', `The storage refuses access to "${bucket}" (${said}).`, cause)
}
