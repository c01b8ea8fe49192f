import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { passwd } from '@stackquay/testkit'
import { refusal } from './refusal.ts'
import { type Service, type ServiceOptions, startService, until } from './service.ts'

const execute = promisify(execFile)
export const isRoot = process.getuid?.() === 0

/** Services that a test has open, each closed with what it made. */
const open: Service[] = []
export const others: string[] = []
/** For the end of a test file. */
export async function closeAll(): Promise<void> {
  for (const service of open) await service.close().catch((error: unknown) => console.error(error))
  for (const name of others) await execute('userdel', ['-f', name]).catch(() => undefined)
}

export async function openService(
  env: Record<string, string> = {},
  more: Pick<ServiceOptions, 'through'> = {},
): Promise<Service> {
  const started = await startService({ env, ...more })
  open.push(started)
  return started
}

/** A range of uids that nobody else uses meanwhile. */
let nextUid = 61_000 + Math.floor(Math.random() * 300) * 10
export function uidRange(count: number): { readonly from: number; readonly text: string } {
  const from = nextUid
  nextUid += count
  return { from, text: `${from}-${from + count - 1}` }
}

/** A user of the machine who has nothing to do with us; answers the line in /etc/passwd. */
export async function addOther(name: string, uid: number): Promise<string> {
  others.push(name)
  await execute('useradd', ['--no-log-init', '--no-create-home', '--uid', String(uid), '--comment', 'somebody', name])
  return lineOf(name)
}

export async function lineOf(name: string): Promise<string> {
  return (await passwd()).find((user) => user.name === name)?.line ?? 'not there'
}

export async function makeProject({ client }: Service, slug: string, more: object = { static: {} }): Promise<string> {
  const body = { name: slug, start: false, ...more }
  const { path } = await client.call('createProject', { body, query: { wait: 60 } })
  await writeFile(join(path, 'index.html'), slug)
  if (isRoot) await execute('chown', ['--reference', path, join(path, 'index.html')])
  return path
}

/** After a start of the service something may be under way with the project. */
export async function start({ client }: Service, slug: string) {
  const params = { id: slug }
  await until(
    async () => (await client.call('getProject', { params })).operation === null,
    `${slug} to be free`,
    60_000,
  )
  return client.call('startProject', { params, query: { wait: 120 } })
}

export async function uidOf({ client }: Service, slug: string): Promise<number> {
  const { status } = await client.call('getProject', { params: { id: slug } })
  const [workload] = status.workloads
  assert.ok(workload?.pid != null, JSON.stringify(status))
  return (await stat(`/proc/${workload.pid}`)).uid
}

export async function assertStarts(of: Service, slug: string): Promise<void> {
  const { state, error } = await start(of, slug)
  assert.equal(state, 'succeeded', `${JSON.stringify(error)} ${of.output()}`)
  assert.equal((await of.get(slug)).status, 200)
}

/** Refused as a whole: there is no project with a folder of somebody else. */
export async function assertNotMade(of: Service, slug: string, why: RegExp): Promise<void> {
  const { code, detail, hint } = await refusal(makeProject(of, slug))
  assert.equal(code, 'engine_unavailable')
  assert.match(`${detail} ${hint}`, why)
  const { items } = await of.client.call('listProjects', { query: { limit: 200 } })
  assert.deepEqual(
    items.filter((project) => project.slug === slug),
    [],
  )
}

/** Nothing of it runs, and nobody stands in for the user that it does not have. */
export async function assertRefuses(of: Service, slug: string, why: RegExp): Promise<void> {
  const { state, error } = await start(of, slug)
  assert.equal(state, 'failed', JSON.stringify(error))
  assert.match(`${error?.detail} ${error?.hint}`, why)
  const { status } = await of.client.call('getProject', { params: { id: slug } })
  assert.deepEqual(
    status.workloads.flatMap(({ pid }) => (pid === null ? [] : [pid])),
    [],
  )
  assert.notEqual((await of.get(slug)).body, slug)
}
