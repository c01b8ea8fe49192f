import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openArchiveFolder } from '@stackquay/archive'
import type { Backup, OperationRecord } from '@stackquay/contract'
import { type Copier, openCopier, type TargetAccess } from '@stackquay/targets'
import { type SmallDisk, smallDisk } from '@stackquay/testkit'
import { Client } from 'pg'
import { type Service, startService, until } from './service.ts'
import { startTargetStorage, type TargetStorage } from './target-storage.ts'

const run = promisify(execFile)
export const id = 'shop'
const passphrase = 'a passphrase of the test'
const never = new AbortController().signal

/** A place that backups are copied to. */
export interface CopyPlace {
  readonly target: string
  readonly access: TargetAccess
}

/**
 * A project whose files and database say which state they are in, a backup of its state `base`, and two places to copy to. The home and one
 * of the places lie on disks that can be made full.
 */
export interface BackupWorld {
  readonly service: Service
  readonly folder: CopyPlace
  readonly bucket: CopyPlace
  readonly storage: TargetStorage
  readonly homeDisk: SmallDisk
  readonly folderDisk: SmallDisk
  readonly base: string
  /** The archive of `base` as it was made; after it was fetched its manifest says where from. */
  readonly tar: Buffer
  /** Where the project’s files are. */
  readonly path: string
  end(): Promise<void>
}

export async function openBackupWorld(): Promise<BackupWorld> {
  const stack = new AsyncDisposableStack()
  try {
    const disk = (options: string) => {
      const made = smallDisk(options)
      assert.ok(made, 'run as root: full disks need a mount')
      stack.defer(() => made.unmount())
      return made
    }
    const [homeDisk, folderDisk] = [disk('size=4g,mode=0711'), disk('size=1g')]
    const storage = await startTargetStorage()
    stack.defer(() => storage.end())
    const service = await startService({ below: homeDisk.path })
    stack.defer(() => service.close())
    const body = { name: 'Shop', static: {}, databases: { main: { type: 'postgresql' as const } } }
    const made = await service.client.call('createProject', { body, query: { wait: 170 } })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    const { path } = made
    const { uid, gid } = await lstat(path)
    await mkdir(join(path, 'assets'))
    for (let at = 0; at < 4; at += 1) await writeFile(join(path, 'assets', `${at}.bin`), randomBytes(8 << 20))
    await run('chown', ['-R', `${uid}:${gid}`, path])
    await inDatabase(service, (client) =>
      client.query(`CREATE TABLE state (text text); INSERT INTO state VALUES ('');
        CREATE TABLE filling AS SELECT n, md5(n::text) FROM generate_series(1, 100000) n`),
    )
    await setState({ service, path }, 'base')
    const backup = (await service.client.call('createBackup', { params: { id }, query: { wait: 120 } })) as Backup
    assert.ok(backup.parts, JSON.stringify(backup))
    const tar = await tarOf(service, backup.id)
    const inFolder = join(folderDisk.path, 'kept')
    await mkdir(inFolder)
    const { endpoint, ...bucket } = storage.s3
    const folder = { kind: 'folder', settings: { path: inFolder } } as const
    const s3Settings = { endpoint, region: 'us-east-1', bucket: bucket.bucket, prefix: '', pathStyle: true }
    const { accessKeyId, secretAccessKey } = bucket
    const add = (more: object) =>
      service.client.call('createBackupTarget', { body: { passphrase, ...more } as never }).then((target) => target.id)
    const places = {
      folder: { access: folder, target: await add({ name: 'Disk', folder: folder.settings }) },
      bucket: {
        access: { kind: 's3', settings: s3Settings, credentials: { accessKeyId, secretAccessKey } },
        target: await add({ name: 'Bucket', s3: storage.s3 }),
      },
    } as const
    const all = stack.move()
    return {
      service,
      ...places,
      storage,
      homeDisk,
      folderDisk,
      path,
      base: backup.id,
      tar,
      end: () => all.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

type Project = Pick<BackupWorld, 'service' | 'path'>

export async function setState({ service, path }: Project, text: string): Promise<void> {
  await writeFile(join(path, 'state.txt'), text)
  await inDatabase(service, (client) => client.query('UPDATE state SET text = $1', [text]))
}

/** What files and database say; the database also how many rows it has. Waits until it runs. */
export async function stateOf({ service, path }: Project): Promise<readonly string[]> {
  let inTables = ''
  await until(
    async () => {
      inTables = await inDatabase(service, async (client) => {
        const { rows } = await client.query('SELECT text, (SELECT count(*) FROM filling) AS n FROM state')
        return `${rows[0].text} ${rows[0].n}`
      }).catch(() => '')
      return inTables !== ''
    },
    'the database to answer',
    60_000,
  )
  const sizes = await Promise.all([0, 1, 2, 3].map((at) => lstat(join(path, 'assets', `${at}.bin`))))
  const whole = sizes.every(({ size }) => size === 8 << 20)
  return [`${await readFile(join(path, 'state.txt'), 'utf8')} ${whole ? 'whole' : 'cut'}`, inTables]
}

export const stateNamed = (text: string): readonly string[] => [`${text} whole`, `${text} 100000`]

async function inDatabase<T>(service: Service, work: (client: Client) => Promise<T>): Promise<T> {
  const { url } = await service.client.call('getDatabaseCredentials', { params: { id, db: 'main' } })
  const client = new Client({ connectionString: url ?? '', connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Of every backup that is listed here: what it names is there, byte for byte. */
export async function checkAllHere({ service }: BackupWorld): Promise<readonly Backup[]> {
  const { items } = await service.client.call('listBackups', { params: { id } })
  const archives = openArchiveFolder(join(service.home, 'backups'))
  for (const { id: backup, parts } of items as readonly Backup[]) {
    await archives.check(backup)
    assert.ok(
      parts.some((part) => part.id === 'settings'),
      `${backup} has no settings`,
    )
  }
  return items as readonly Backup[]
}

/** Of every copy that the place shows, with nothing but the place and the passphrase. Answers how many there are. */
export async function checkAllThere({ access }: CopyPlace, { service, base, tar }: BackupWorld): Promise<number> {
  await using opening = openCopier({ access })
  const { key } = await opening.setUpKey(passphrase, never)
  await using copier: Copier = openCopier({ access, key })
  const { found, unreadable } = await copier.list(never)
  assert.deepEqual(unreadable, [])
  for (const index of found) {
    assert.equal(index.id, base)
    const copy = Buffer.concat(await Array.fromAsync(copier.read(index, never)))
    assert.ok(tar.equals(copy) || (await tarOf(service, base)).equals(copy), 'a copy has other bytes than its backup')
  }
  return found.length
}

/** Empty where there is no such backup. */
async function tarOf({ home }: Service, backup: string): Promise<Buffer> {
  const archives = openArchiveFolder(join(home, 'backups'))
  if ((await archives.read(backup)) === null) return Buffer.alloc(0)
  return Buffer.concat(await Array.fromAsync((await archives.asTar(backup)).read()))
}

/** However it ended. The service may be on its way up. */
export async function endOf({ service }: BackupWorld, op: string): Promise<OperationRecord> {
  let ended: OperationRecord | null = null
  await until(
    async () => {
      ended = (await service.client
        .call('getOperation', { params: { op }, query: { wait: 20 } })
        .catch(() => null)) as OperationRecord | null
      return ended !== null && !['queued', 'running'].includes(ended.state)
    },
    `the operation ${op} to end`,
    200_000,
  )
  return ended!
}
