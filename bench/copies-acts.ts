import { createReadStream, createWriteStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Backup, OperationRecord } from '@stackquay/contract'
import { id, measured, type Used, type World } from './copies-world.ts'

/** What each act took, by what it is, in the order of a project’s life. */
export async function measureActs(world: World): Promise<ReadonlyMap<string, Used>> {
  const found = new Map<string, Used>()
  const during = async (name: string, act: () => Promise<unknown>) => {
    found.set(name, await measured(world, act))
    console.error(`  ${name}: ${JSON.stringify(found.get(name))}`)
  }
  let backup = ''
  await during('backup of a project', async () => {
    backup = (await create(world)).id
  })
  for (const [kind, target] of Object.entries(world.targets))
    await during(`copy to ${names[kind]}`, () => succeeded(copy(world, backup, target)))
  const file = join(world.folder, 'archive.tar')
  await during('download', () => download(world, backup, file))
  await during('restore in place', () => succeeded(restore(world, backup)))
  for (const [kind, target] of Object.entries(world.targets)) {
    await remove(world, backup)
    await during(`fetch from ${names[kind]}`, () => succeeded(fetchFrom(world, backup, target)))
  }
  await remove(world, backup)
  await during('upload', () => upload(world, file))
  await rm(file)
  await during('test of a backup', () => succeeded(verify(world, backup)))
  await forget(world, backup)
  const dump = join(world.folder, 'dump.sql.gz')
  await during('export of a database, gzip', () => exportTo(world, dump))
  await during('import of a dump, gzip', () => importFrom(world, dump, 'main', '&mode=replace&confirm=main'))
  await rm(dump)
  await during('backup of the instance', () => backUpInstance(world))
  await removeOthers(world)
  return found
}

const names: Readonly<Record<string, string>> = { folder: 'a folder', s3: 'a bucket (S3)', sftp: 'a machine (SFTP)' }
const longWait = { wait: 290 } as const

async function create({ client }: World): Promise<Backup> {
  const made = (await client.call('createBackup', { params: { id }, query: longWait })) as Backup
  if (made.parts === undefined) throw new Error(JSON.stringify(made))
  return made
}

const copy = ({ client }: World, backup: string, target: string) =>
  client.call('copyBackup', { params: { backup }, body: { target }, query: longWait })

const fetchFrom = ({ client }: World, backup: string, target: string) =>
  client.call('fetchBackup', { params: { target }, body: { backup }, query: longWait })

const restore = ({ client }: World, backup: string) =>
  client.call('restoreBackup', { params: { id, backup }, body: { confirm: id }, query: longWait }, { ifMatch: '*' })

const verify = ({ client }: World, backup: string) =>
  client.call('verifyBackup', { params: { id, backup }, query: longWait })

const remove = ({ client }: World, backup: string) => client.call('deleteAnyBackup', { params: { backup } })

async function forget(world: World, backup: string): Promise<void> {
  for (const target of Object.values(world.targets))
    await succeeded(
      world.client.call('deleteTargetBackup', { params: { target, backup }, query: { confirm: backup, ...longWait } }),
    )
}

/** An operation that ended well, or what it made. */
async function succeeded(asked: Promise<unknown>): Promise<void> {
  const answer = (await asked) as Partial<OperationRecord> | undefined
  if (answer?.state !== undefined && answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
}

const authorization = ({ service }: World) => ({ authorization: `Bearer ${service.token}` })

async function download(world: World, backup: string, file: string): Promise<void> {
  await save(
    await fetch(`${world.service.url}/api/v1/backups/${backup}/download`, { headers: authorization(world) }),
    file,
  )
}

async function save(response: Response, file: string): Promise<void> {
  if (!response.ok) throw new Error(await response.text())
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file))
}

async function send(world: World, path: string, file: string, type: string): Promise<void> {
  const { size } = await stat(file)
  const response = await fetch(`${world.service.url}/api/v1${path}`, {
    method: 'POST',
    headers: { ...authorization(world), 'content-type': type, 'content-length': String(size) },
    body: Readable.toWeb(createReadStream(file)) as never,
    duplex: 'half',
  } as RequestInit)
  const answer = (await response.json()) as { operation?: OperationRecord }
  if (!response.ok || (answer.operation?.state ?? 'succeeded') !== 'succeeded') throw new Error(JSON.stringify(answer))
}

const upload = (world: World, file: string) => send(world, '/backups/upload', file, 'application/x-tar')

export const exportTo = async (world: World, file: string) =>
  save(
    await fetch(`${world.service.url}/api/v1/projects/${id}/databases/main/export?compress=gzip`, {
      headers: authorization(world),
    }),
    file,
  )

export const importFrom = (world: World, file: string, database: string, query: string) =>
  send(world, `/projects/${id}/databases/${database}/import?wait=290${query}`, file, 'application/octet-stream')

async function backUpInstance({ client }: World): Promise<void> {
  await client.call('createInstanceBackup', {})
}

/** What restores and imports made by themselves. */
async function removeOthers(world: World): Promise<void> {
  for (const one of (await world.client.call('listAllBackups', {})).items) await remove(world, one.id)
}
