import assert from 'node:assert/strict'
import { readdir, readFile, rename, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OperationRecord } from '@stackquay/contract'
import { type SmallDisk, waitFor } from '@stackquay/testkit'
import { randomFrom } from '@stackquay/testkit/random'
import { rounds } from '@stackquay/testkit/rounds'
import {
  type BackupWorld,
  type CopyPlace,
  checkAllHere,
  checkAllThere,
  endOf,
  id,
  openBackupWorld,
  setState,
  stateNamed,
  stateOf,
} from './support/backup-world.ts'

type Act = 'create' | 'copy' | 'restore' | 'fetch'
type Fault = 'service killed' | 'job killed' | 'disk full' | 'target gone'

/** The first of them are those of a short run. */
const moments: readonly (readonly [Act, Fault])[] = [
  ['copy', 'target gone'],
  ['restore', 'job killed'],
  ['create', 'disk full'],
  ['fetch', 'service killed'],
  ['restore', 'service killed'],
  ['create', 'job killed'],
  ['copy', 'service killed'],
  ['restore', 'disk full'],
  ['copy', 'job killed'],
  ['create', 'service killed'],
  ['copy', 'disk full'],
  ['fetch', 'job killed'],
  ['fetch', 'target gone'],
]

/** How long each takes about, in milliseconds: the fault comes at any moment of it. */
const usualMs: Readonly<Record<Act, number>> = { create: 1_800, copy: 1_800, restore: 5_000, fetch: 1_500 }

/** No backup that looks good and is not; a restore is finished or undone; the data before it is never lost. */
describe('backups when the service or its jobs are killed, a disk is full or a target is gone', () => {
  const random = randomFrom(20_261_126)
  let world: BackupWorld
  before(async () => {
    world = await openBackupWorld()
  })
  after(() => world?.end())

  it('at random moments of create, copy, restore and fetch', { timeout: rounds(280_000, 3_600_000) }, async (t) => {
    const outcomes = new Map<string, number>()
    for (let round = 0; round < rounds(4, 52); round += 1) {
      const [act, fault] = moments[round % moments.length]!
      const place = round % 2 === 0 ? world.folder : world.bucket
      const outcome = await one(`round ${round}`, act, fault, fault === 'disk full' ? world.folder : place)
      const said = `${act}, ${fault}: ${outcome}`
      outcomes.set(said, (outcomes.get(said) ?? 0) + 1)
    }
    for (const [said, times] of [...outcomes].sort()) t.diagnostic(`${said} ${times}`)
  })

  it('a checkpoint on a full disk: told before anything stops, or given up with nothing left and nothing lost', {
    timeout: 240_000,
  }, async () => {
    const { client } = world.service
    const take = (wait: number) => client.call('createCheckpoint', { params: { id }, query: { wait } })
    const project = (await client.call('getProject', { params: { id } })).id
    const data = () => readdir(join(world.service.home, 'data', project))
    const starts = async () =>
      (await client.call('getProject', { params: { id } })).status.workloads.map(({ name, since }) => [name, since])
    await setState(world, 'before the checkpoint')
    const before = [(await data()).sort(), await starts()]

    await shrink(world.homeDisk, 16 << 20)
    await assert.rejects(take(0), (error: { code?: string; detail?: string; message: string }) => {
      assert.match(JSON.stringify(error) + error.message, /insufficient|full|free/i)
      return true
    })
    assert.deepEqual([(await data()).sort(), await starts()], before)

    world.homeDisk.change('size=4g')
    const operation = (await take(0)) as OperationRecord
    // There was room when it was accepted.
    await shrink(world.homeDisk, 16 << 20)
    const { state, error } = await ended(operation)
    assert.deepEqual([state, error?.code], ['failed', 'disk_full'], JSON.stringify(error))
    const runs = async () => {
      const { status } = await client.call('getProject', { params: { id } })
      return status.workloads.every((one) => one.state === 'running')
    }
    await waitFor('the project to run on the full disk', runs, { timeoutMs: 30_000 })
    assert.deepEqual((await data()).sort(), before[0])
    assert.deepEqual((await client.call('listCheckpoints', { params: { id } })).items, [])
    assert.deepEqual(await stateOf(world), stateNamed('before the checkpoint'))

    world.homeDisk.change('size=4g')
    const made = await take(120)
    assert.ok('parts' in made, JSON.stringify(made))
    await client.call('deleteCheckpoint', { params: { id, checkpoint: made.id } })
    assert.deepEqual((await data()).sort(), before[0])
  })

  const one = async (name: string, act: Act, fault: Fault, place: CopyPlace): Promise<string> => {
    if (act === 'copy') await forgetCopy(place)
    if (act === 'fetch') {
      if ((await checkAllThere(place, world)) === 0)
        assert.equal((await ended(await begin('copy', place))).state, 'succeeded')
      await world.service.client.call('deleteAnyBackup', { params: { backup: world.base } })
    }
    if (act === 'restore') await setState(world, name)
    const operation = await begin(act, place)
    await sleep(random() * usualMs[act])
    await faults[fault](place, act)
    const { state, error } = await ended(operation)
    const why = `${name}: ${act}, ${fault}: ${state} ${JSON.stringify(error)}`
    assert.ok(state === 'succeeded' || state === 'failed', why)
    assert.notEqual(error?.code, 'internal_error', why)
    // What a killed service did goes on where it was.
    if (fault === 'service killed') assert.equal(state, 'succeeded', why)
    await checks[act](name, state, place, why)
    const left = (await readdir(join(world.service.home, 'backups'))).filter((one) => one.startsWith('.'))
    assert.deepEqual(left, [], why)
    for (const { id: backup } of await checkAllHere(world))
      if (backup !== world.base) await world.service.client.call('deleteAnyBackup', { params: { backup } })
    return `${state}${error === null ? '' : ` (${error.code})`}`
  }

  const checks: Readonly<Record<Act, (name: string, state: string, place: CopyPlace, why: string) => Promise<void>>> = {
    create: async (_name, state, _place, why) => {
      const made = (await checkAllHere(world)).filter((backup) => backup.id !== world.base)
      assert.equal(made.length, state === 'succeeded' ? 1 : 0, why)
      for (const { parts } of made)
        assert.deepEqual(parts.map((part) => part.id).sort(), ['database:main', 'files', 'settings'], why)
    },
    copy: async (_name, state, place, why) => {
      assert.equal(await checkAllThere(place, world), state === 'succeeded' ? 1 : 0, why)
      if (state === 'succeeded') return
      assert.equal((await ended(await begin('copy', place))).state, 'succeeded', why)
      assert.equal(await checkAllThere(place, world), 1, why)
    },
    restore: async (name, state, _place, why) => {
      const found = await stateOf(world)
      assert.deepEqual(found, stateNamed(state === 'succeeded' ? 'base' : name), why)
      const before = (await checkAllHere(world)).filter(({ source }) => source === 'before-restore')
      if (state === 'succeeded') assert.ok(before.length > 0, `${why}: what was replaced is in no backup`)
    },
    fetch: async (_name, state, place, why) => {
      const isHere = (await checkAllHere(world)).some((backup) => backup.id === world.base)
      assert.equal(isHere, state === 'succeeded', why)
      if (state === 'succeeded') return
      assert.equal((await ended(await begin('fetch', place))).state, 'succeeded', why)
      assert.ok(
        (await checkAllHere(world)).some((backup) => backup.id === world.base),
        why,
      )
    },
  }

  const begin = async (act: Act, { target }: CopyPlace): Promise<OperationRecord> => {
    const { client } = world.service
    const backup = world.base
    const begun: Readonly<Record<Act, () => Promise<unknown>>> = {
      create: () => client.call('createBackup', { params: { id } }),
      copy: () => client.call('copyBackup', { params: { backup }, body: { target } }),
      restore: () => client.call('restoreBackup', { params: { id, backup }, body: { confirm: id } }, { ifMatch: '*' }),
      fetch: () => client.call('fetchBackup', { params: { target }, body: { backup } }),
    }
    return (await begun[act]()) as OperationRecord
  }
  const ended = (operation: OperationRecord) => endOf(world, operation.id)

  const forgetCopy = async (place: CopyPlace) => {
    if ((await checkAllThere(place, world)) === 0) return
    const operation = await world.service.client.call('deleteTargetBackup', {
      params: { target: place.target, backup: world.base },
      query: { confirm: world.base, wait: 60 },
    })
    assert.equal((operation as OperationRecord).state, 'succeeded')
  }

  const faults: Readonly<Record<Fault, (place: CopyPlace, act: Act) => Promise<void>>> = {
    'service killed': async () => {
      await world.service.kill()
      await world.service.start()
    },
    'job killed': async () => {
      // There may be none in this moment.
      for (let look = 0; look < 100; look += 1) {
        const jobs = await jobsOf(world.service.pid())
        const job = jobs[Math.floor(random() * jobs.length)]
        if (job !== undefined && tryKill(job)) return
        await sleep(10)
      }
    },
    'disk full': async (_place, act) => {
      const isOfTarget = act === 'copy'
      await full(isOfTarget ? world.folderDisk : world.homeDisk, isOfTarget ? '1g' : '4g')
    },
    'target gone': async ({ access }) => {
      if (access.kind === 'folder') {
        await rename(access.settings.path, `${access.settings.path}-away`)
        await sleep(200 + random() * 2_000)
        await rename(`${access.settings.path}-away`, access.settings.path)
      } else {
        await world.storage.goAway()
        await sleep(200 + random() * 2_000)
        await world.storage.comeBack()
      }
    },
  }

  /** For a while, but for some megabytes. */
  const full = async (disk: SmallDisk, size: string) => {
    await shrink(disk, Math.floor(random() * (4 << 20)))
    await sleep(500 + random() * 3_000)
    disk.change(`size=${size}`)
  }
})

/** So many bytes are free on it then. */
async function shrink(disk: SmallDisk, free: number): Promise<void> {
  for (let isFull = false; !isFull; ) {
    const { blocks, bfree, bsize } = await statfs(disk.path)
    // It may hold more by now.
    isFull = canChange(disk, `size=${(blocks - bfree) * bsize + free}`)
  }
}

/** Processes that the service started for what it does now: not the proxy, and nothing that it only looks after. */
async function jobsOf(service: number): Promise<readonly number[]> {
  const children: number[] = []
  for (const thread of await readdir(`/proc/${service}/task`))
    children.push(...numbersIn(await readFile(`/proc/${service}/task/${thread}/children`, 'utf8').catch(() => '')))
  const found: number[] = []
  for (const pid of children) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (/zstd|copier\/program|as-user\/|shim|pg_|\0tar\0/.test(line)) found.push(pid)
    const below = numbersIn(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => ''))
    if (/as-user\/|shim/.test(line)) found.push(...below)
  }
  return found
}

function canChange(disk: SmallDisk, options: string): boolean {
  try {
    disk.change(options)
    return true
  } catch {
    return false
  }
}

function numbersIn(text: string): readonly number[] {
  return text.split(/\s+/).filter(Boolean).map(Number)
}

function tryKill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}
