import { chown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { OperationRecord } from '@stackquay/contract'
import { processesBelow } from '../e2e/support/git-lab.ts'
import { type Service, until } from '../e2e/support/service.ts'
import { atMost, type Bar, type Benchmark, type Table } from './benchmark.ts'
import { bytesBelow, type GitWorld, openGitWorld, type Watched, watched, writeNoise } from './git-world.ts'
import { asStarted, withService } from './instance.ts'
import { quantile } from './numbers.ts'

const id = 'large'
const wait = 280
const longMs = 600_000

export const benchmark: Benchmark = {
  title: 'A large git repository',
  about: `A project from a repository of 1 GB that cannot be compressed (four files of 200 MB, two thousand of 100 kB), over git’s own HTTP server on this machine, which takes its part of
the same cores. Each act is asked for over the API and checked by the commit and the files that are there then; a tenth of the size is new with each. Meanwhile \`/api/v1/health\` is asked every
50 ms, and the resident memory of the service is read, with that of all programs that it has started (git, helpers, the project; without mapped files). Then a creation is cancelled, and the service is killed in one and in a pull, each when a third has come.`,
  measure: async ({ quick }) => {
    const megabytes = quick ? 40 : 1000
    await using world = await openGitWorld(megabytes)
    return await withService(async (service) => {
      const acts = await measureActs(service, world, megabytes)
      const faults = [
        await cancelledCreation(service, world, megabytes),
        await killedCreation(service, world, megabytes),
        await killedPull(service, world, megabytes),
      ]
      const table: Table = [
        ['act', 'time', 'health p50', 'health p95', 'slowest', 'the service grew by', 'what it started took'],
        ...acts.map(({ name, milliseconds, pings, grew, programs }) => [
          name,
          `${(milliseconds / 1000).toFixed(1)} s`,
          `${quantile(pings, 0.5).toFixed(1)} ms`,
          `${quantile(pings, 0.95).toFixed(1)} ms`,
          `${Math.max(...pings).toFixed(0)} ms`,
          `${grew.toFixed(0)} MB`,
          `${programs.toFixed(0)} MB`,
        ]),
      ]
      return { tables: [table], bars: [...barsOf(acts), ...faults] }
    }, asStarted())
  },
}

type Act = Watched<unknown> & { readonly name: string }

function barsOf(acts: readonly Act[]): Bar[] {
  const pings = acts.flatMap((act) => act.pings)
  return [
    atMost('health meanwhile, p95', quantile(pings, 0.95), 100, 'ms'),
    atMost('what the service grew by', Math.max(...acts.map(({ grew }) => grew)), 60, 'MB'),
    atMost('memory of all that the service started', Math.max(...acts.map(({ programs }) => programs)), 600, 'MB'),
  ]
}

async function measureActs(service: Service, world: GitWorld, megabytes: number): Promise<readonly Act[]> {
  const { client } = service
  const params = { id }
  const more = megabytes / 10
  const acts: Act[] = []
  const act = async (name: string, begin: () => Promise<OperationRecord>) => {
    acts.push({ name, ...(await watched(service, async () => succeeded(service, await begin()))) })
  }
  await act('create', () => begunCreation(service, world, id))
  await requireAt(service, world, id, await world.git(world.bare, 'rev-parse', 'HEAD'), 0)

  const fetched = await world.publish('fetched.bin', more)
  await act('fetch', () => client.call('fetchGit', { params, query: {} }))
  const { path } = await client.call('getProject', { params })
  const remote = await world.git(path, 'rev-parse', 'refs/remotes/origin/main')
  if (remote !== fetched) throw new Error(`A fetch left ${remote} instead of ${fetched}.`)
  await act('pull what was fetched', () => client.call('pullGit', { params, query: {} }))
  await requireAt(service, world, id, fetched, 1)

  const pulled = await world.publish('pulled.bin', more)
  await act('pull', () => client.call('pullGit', { params, query: {} }))
  await requireAt(service, world, id, pulled, 2)

  const deployed = await world.publish('deployed.bin', more)
  await act('deploy', () => client.call('createDeploy', { params, query: {} }))
  await requireAt(service, world, id, deployed, 3)

  await writeNoise(join(path, 'mine.bin'), more)
  const { uid, gid } = await stat(path)
  await chown(join(path, 'mine.bin'), uid, gid)
  await act('commit', () =>
    client.call('commitGit', { params, body: { message: 'Mine', paths: ['mine.bin'] } } as never),
  )
  await act('push', () => client.call('pushGit', { params, body: {}, query: {} }))
  const pushed = await world.git(world.bare, 'rev-parse', 'main')
  if (pushed !== (await world.git(path, 'rev-parse', 'HEAD')) || pushed === deployed)
    throw new Error(`${pushed} was pushed.`)
  await world.git(world.bare, 'fsck', '--connectivity-only')
  acts.push({ name: 'look (status, log, branches)', ...(await watched(service, () => looks(service))) })
  return acts
}

async function looks({ client }: Service): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const { files, branch } = (await client.call('getGit', { params: { id } })) as {
      files?: unknown[]
      branch?: string
    }
    if (branch !== 'main' || (files?.length ?? 0) > 0) throw new Error('The project is not as it was committed.')
    await client.call('getGitLog', { params: { id }, query: {} })
    await client.call('listGitBranches', { params: { id } })
  }
}

async function begunCreation({ client }: Service, { url }: GitWorld, slug: string): Promise<OperationRecord> {
  const { operation } = await client.call('createProject', { body: { name: slug, slug, git: { url } } })
  return operation!
}

async function ended({ client }: Service, op: string): Promise<OperationRecord> {
  for (const until = Date.now() + longMs; Date.now() < until; ) {
    const operation = await client.call('getOperation', { params: { op }, query: { wait: 25 } })
    if (operation.state !== 'queued' && operation.state !== 'running') return operation
  }
  throw new Error(`${op} did not end.`)
}

async function succeeded(service: Service, { id: op }: OperationRecord): Promise<OperationRecord> {
  const operation = await ended(service, op)
  if (operation.state !== 'succeeded') throw new Error(JSON.stringify(operation))
  return operation
}

/** The commit, the files of it and nothing else, and what its address answers. */
async function requireAt(
  service: Service,
  world: GitWorld,
  slug: string,
  commit: string,
  version: number,
): Promise<void> {
  const { path } = await service.client.call('getProject', { params: { id: slug } })
  const head = await world.git(path, 'rev-parse', 'HEAD')
  const changed = await world.git(path, 'status', '--porcelain')
  const { body } = await service.get(slug)
  if (head !== commit || changed !== '' || body !== `version ${version}\n`)
    throw new Error(`${slug} is at ${head} instead of ${commit}, changed: "${changed}", answers "${body}".`)
}

const mirrorsOf = (service: Service) => join(service.home, 'git', 'mirrors')

/** Waits until a third has come. */
function inTheMiddle(service: Service, megabytes: number): Promise<void> {
  const enough = (megabytes * 1_000_000) / 3
  return until(async () => (await bytesBelow(mirrorsOf(service))) > enough, 'a third to come', longMs)
}

async function cancelledCreation(service: Service, world: GitWorld, megabytes: number): Promise<Bar> {
  const { id: op } = await begunCreation(service, world, 'cancelled')
  await inTheMiddle(service, megabytes)
  await service.client.call('cancelOperation', { params: { op }, query: { wait: 60 } })
  const { state } = await ended(service, op)
  await delay(1000)
  const left = [
    ...(await readdir(mirrorsOf(service))),
    ...(await readdir(join(service.home, 'projects'))).filter((name) => name !== id),
    ...(await processesBelow(service.home)).filter((line) => / git /.test(line)),
  ]
  return told('a creation that is cancelled', `${state}, ${left.length} things left`, 'cancelled, 0 things left')
}

async function killedCreation(service: Service, world: GitWorld, megabytes: number): Promise<Bar> {
  const { id: op } = await begunCreation(service, world, 'killed')
  await inTheMiddle(service, megabytes)
  await service.kill()
  await service.start()
  const { state } = await ended(service, op)
  const commit = await world.git(world.bare, 'rev-parse', 'HEAD')
  await requireAt(service, world, 'killed', commit, 3)
  await service.client.call('deleteProject', {
    params: { id: 'killed' },
    query: { confirm: 'killed', data: 'delete', purge: true, wait },
  } as never)
  const left = await readdir(mirrorsOf(service))
  return told(
    'a creation whose service is killed',
    `${state}, ${left.length} mirrors left`,
    'succeeded, 0 mirrors left',
  )
}

/** It begins again, or says that it did not; the project is at one commit or the other, with all its objects. */
async function killedPull(service: Service, world: GitWorld, megabytes: number): Promise<Bar> {
  const { path } = await service.client.call('getProject', { params: { id } })
  const before = await world.git(path, 'rev-parse', 'HEAD')
  const commit = await world.publish('last.bin', megabytes / 5)
  const begun = (await service.client.call('pullGit', { params: { id }, query: {} })) as OperationRecord
  await inTheMiddle(service, megabytes)
  await service.kill()
  await service.start()
  const { state } = await ended(service, begun.id)
  const isThere = state === 'succeeded'
  await requireAt(service, world, id, isThere ? commit : before, isThere ? 4 : 3)
  await world.git(path, 'fsck', '--connectivity-only')
  if (!isThere) {
    await succeeded(service, (await service.client.call('pullGit', { params: { id }, query: {} })) as OperationRecord)
    await requireAt(service, world, id, commit, 4)
  }
  const left = await readdir(mirrorsOf(service))
  return told('a pull whose service is killed', `${state}, ${left.length} mirrors left`, 'succeeded, 0 mirrors left')
}

function told(what: string, measured: string, bar: string): Bar {
  return { what, measured, bar, kept: measured === bar }
}
