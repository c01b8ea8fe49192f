import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { openTarget, readHostKey, type TargetAccess } from '@stackquay/targets'
import { freePort, spawnTracked, startSftpServer } from '@stackquay/testkit'
import type { Place } from './conformance.ts'

export async function temporaryFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-target-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** A folder of this machine. */
export async function folderPlace(): Promise<Place & { readonly path: string }> {
  const { path, remove } = await temporaryFolder()
  const open = (folder: string) => openTarget({ kind: 'folder', settings: { path: folder } })
  return {
    path,
    open: () => open(path),
    ...looks(path),
    missing: () => open(join(path, 'not-mounted')),
    // Not even root makes a file there.
    refused: () => open('/sys'),
    unreachable: async () => null,
    [Symbol.asyncDispose]: remove,
  }
}

function looks(path: string): Pick<Place, 'look' | 'names'> {
  return {
    look: async (name) => (existsSync(join(path, name)) ? readFileSync(join(path, name)) : null),
    names: async () => readdirSync(path),
  }
}

export interface S3Place extends Place {
  readonly access: Extract<TargetAccess, { kind: 's3' }>
}

export const s3Keys = {
  accessKeyId: 'ACCESSKEY0123456789A',
  secretAccessKey: 'secret0123456789secret0123456789secret01',
}

/** The object storage of the catalogue, the program that projects get. */
export async function storagePlace(): Promise<S3Place> {
  const { path, remove } = await temporaryFolder()
  const program = fileURLToPath(import.meta.resolve('@stackquay/catalog/services/storage/server/object-storage'))
  const argv = ['--data', path, '--port', '0', '--bucket', 'offsite'] as const
  const server = spawnTracked([process.execPath, program, ...argv], {
    env: { STORAGE_ACCESS_KEY: s3Keys.accessKeyId, STORAGE_SECRET_KEY: s3Keys.secretAccessKey },
  })
  const [, endpoint = ''] = await server.line(/listens on (http:\/\/\S+)/)
  const place = s3Place(endpoint)
  return {
    ...place,
    [Symbol.asyncDispose]: async () => {
      await place[Symbol.asyncDispose]()
      await server.end()
      await remove()
    },
  }
}

/** A bucket `offsite` of a server that speaks S3. */
export function s3Place(endpoint: string, credentials = s3Keys): S3Place {
  const settings = { endpoint, region: 'us-east-1', bucket: 'offsite', prefix: 'stackquay/one', pathStyle: true }
  const access = { kind: 's3', settings, credentials } as const
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  return {
    access,
    open: () => openTarget(access),
    look: async (name) => {
      const Key = `stackquay/one/${name}`
      const found = await client.send(new GetObjectCommand({ Bucket: 'offsite', Key })).catch(() => null)
      return found === null ? null : Buffer.from(await found.Body!.transformToByteArray())
    },
    names: async () => {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket: 'offsite', Prefix: 'stackquay/one/', Delimiter: '/' }),
      )
      return (page.Contents ?? []).map(({ Key = '' }) => Key.slice('stackquay/one/'.length))
    },
    missing: () => openTarget({ ...access, settings: { ...settings, bucket: 'no-such-bucket' } }),
    refused: () => openTarget({ ...access, credentials: { ...credentials, secretAccessKey: 'another' } }),
    unreachable: async () =>
      openTarget({ ...access, settings: { ...settings, endpoint: `http://127.0.0.1:${await freePort()}` } }),
    [Symbol.asyncDispose]: async () => client.destroy(),
  }
}

export interface SftpPlace extends Place {
  readonly access: Extract<TargetAccess, { kind: 'sftp' }>
  readonly path: string
  /** The machine is set up anew: it shows another key. */
  newHostKey(): Promise<void>
}

/** OpenSSH’s server with its own SFTP, as the user that runs the test. */
export async function sftpPlace(): Promise<SftpPlace> {
  const server = await startSftpServer()
  const { host, port, user, path, privateKey, strangeKey, newHostKey } = server
  const settings = { host, port, user, path, hostKey: await readHostKey({ host, port }) }
  const access = { kind: 'sftp', settings, credentials: { privateKey } } as const
  return {
    access,
    path,
    newHostKey,
    open: () => openTarget(access),
    ...looks(path),
    missing: () => openTarget({ ...access, settings: { ...settings, path: `${path}/not-there` } }),
    refused: () => openTarget({ ...access, credentials: { privateKey: strangeKey } }),
    unreachable: async () => openTarget({ ...access, settings: { ...settings, port: await freePort() } }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
