import { setTimeout as sleep } from 'node:timers/promises'
import { ProblemError } from '@stackquay/contract'
import {
  firstPiece,
  isArchiveLate,
  isSpareArchive,
  keepDaysOf,
  needsBase,
  snapshotSubject,
  spareBases,
} from '@stackquay/domain'
import type { Orchestrator } from '@stackquay/orchestrator'
import { newId, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import { aborted } from '../aborted.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { LateArchives } from '../projects/late-archives.ts'
import type { Model } from '../projects/model.ts'
import { isEnded } from '../projects/view.ts'
import { forgetRow } from '../snapshots/forget-row.ts'
import { tellArchive } from './archive-program.ts'
import { type LookDeps, lookAtArchives, type SeenArchive } from './look-at-archives.ts'

export interface ArchiveKeeperOptions extends LookDeps {
  readonly store: Store
  readonly model: Model
  readonly orchestrator: Orchestrator
  readonly late: LateArchives
  /** Nothing is made before what the service of before had under way goes on. */
  readonly ready: Promise<void>
  onError(error: unknown, what: string): void
}

interface Keeping extends ArchiveKeeperOptions {
  /** Which base of an archive was begun last, and when. */
  readonly begun: Map<string, { readonly base: string; readonly at: number }>
}

export interface ArchiveKeeper {
  /** Ends with the look that is under way. */
  close(): Promise<void>
}

/**
 * Looks at the archives of databases again and again: makes bases, removes what is not kept any more, tells of those that fall behind. Whatever is
 * due is found by looking, so a kill loses nothing. While something else is done with a project, its turn comes later.
 */
export function openArchiveKeeper(options: ArchiveKeeperOptions): ArchiveKeeper {
  const { store, ready } = options
  const keeping: Keeping = { ...options, begun: new Map() }
  const life = new AbortController()
  let woken = new AbortController()
  let wokenAt = performance.now()
  // What was switched on has no base before its operation has ended.
  const stopHearing = store.onCommit((events) => {
    const hasEnded = (data: unknown) => isEnded(data as Parameters<typeof isEnded>[0])
    if (events.some(({ type, data }) => type === 'operation.changed' && hasEnded(data))) {
      wokenAt = performance.now()
      woken.abort()
    }
  })
  const run = async (): Promise<void> => {
    await Promise.race([ready, aborted(life.signal)])
    while (!life.signal.aborted) {
      woken = new AbortController()
      const waits = await lookAtAll(keeping, life.signal)
      await rest(leastRestMs, life.signal)
      const isSoon = waits && performance.now() - wokenAt < mostRestMs
      await rest(isSoon ? waitingRestMs : mostRestMs, AbortSignal.any([life.signal, woken.signal]))
    }
  }
  const running = run().catch(() => undefined)
  return {
    close: async () => {
      stopHearing()
      life.abort()
      await running
    },
  }
}

const mostRestMs = 60_000
/** While a server that needs a base is not ready for one, for a minute after something ended. */
const waitingRestMs = 2000
/** What ends together is looked at once. */
const leastRestMs = 500
const lookMs = 5 * 60_000
/** After a base that was not made: what stood in its way is seldom gone at once. */
const patienceMs = 10 * 60_000

/** Answers whether something waits that will be possible soon. */
async function lookAtAll(options: Keeping, life: AbortSignal): Promise<boolean> {
  const { model, onError, store } = options
  let waits = false
  for (const { project, database } of await store.archives.databases().catch(() => [])) {
    const row = model.find(project)?.row
    if (row?.phase !== 'ready' || life.aborted) continue
    const signal = AbortSignal.any([life, AbortSignal.timeout(lookMs)])
    const waitsToo = await lookAtDatabase(row, database, options, signal).catch((error: unknown) => {
      if (!life.aborted && !isBusy(error)) onError(error, `the archive of ${row.slug}/${database}`)
      return isBusy(error)
    })
    waits ||= waitsToo
  }
  return waits
}

async function lookAtDatabase(
  row: ProjectRow,
  database: string,
  options: Keeping,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, late, model, now } = options
  await follow(row, database, store)
  const seen = await lookAtArchives(row, database, options, signal)
  const open = seen.find(({ row: archive }) => archive.endedAt === null)
  const isLate = open !== undefined && isArchiveLate(open.look, now())
  if (late.set(row.id, database, isLate ? open.look : null)) model.touched(row.id)
  // Its end is heard of.
  if ((await store.operations.unfinishedOf(row.id)).length > 0) return false
  for (const one of seen) await removeSpare(row, one, options, signal)
  if (open === undefined || !needsBase(open.known, open.look, now())) return false
  const [before, at] = [options.begun.get(open.row.id), performance.now()]
  const failed = before !== undefined && !open.known.bases.some(({ id }) => id === before.base)
  if (failed && at - before.at < patienceMs) return false
  if (!(await runs(row, open, options, signal))) return row.desired === 'running'
  const base = newId('snp', now())
  const made = await store.transaction((tx) => makeBase(tx, row, { database, base, archive: open.row.id }, options))
  options.begun.set(open.row.id, { base, at })
  begin(made, options)
  return false
}

/** What settings say of it by now. What was switched off is kept for its days. */
async function follow({ id, spec }: ProjectRow, database: string, store: Store): Promise<void> {
  const settings = Object.hasOwn(spec.databases, database) ? spec.databases[database] : undefined
  const open = (await store.archives.of(id)).find((one) => one.database === database && one.endedAt === null)
  const keep = settings?.pointInTime?.keep
  if (open === undefined || (keep !== undefined && keepDaysOf(keep) === open.keepDays)) return
  await store.transaction((tx) =>
    keep === undefined ? tx.archives.end(id, open.data) : tx.archives.setKeep(open.id, keepDaysOf(keep)),
  )
}

/** Rows go first: data without one is removed by the next start, and a row without data would be a promise. */
async function removeSpare(
  row: ProjectRow,
  { row: archive, known, programs, ranges }: SeenArchive,
  { store, engine, now, reveal }: ArchiveKeeperOptions,
  signal: AbortSignal,
): Promise<void> {
  const isSpare = isSpareArchive(known, now())
  const spare = isSpare ? known.bases : spareBases(known, now())
  if (spare.length === 0 && !isSpare) return
  await store.transaction(async (tx) => {
    for (const { id } of spare) {
      const base = await store.snapshots.find(row.id, id)
      if (base !== null) await forgetRow(tx, base)
    }
    if (isSpare) await tx.archives.delete(archive.id)
  })
  const names = await engine.dataNames(row.id, signal)
  for (const data of [...spare.map(({ id }) => id), ...(isSpare ? [archive.id] : [])].filter((id) =>
    names.includes(id),
  ))
    for (const step of engine.plan({ type: 'deleteData', project: row.id, data }))
      await engine.apply(step, { signal, output: () => undefined, reveal: async () => '' })
  const first = firstPiece(known.bases.filter((base) => !spare.includes(base)))
  if (isSpare || programs === null || first === null || ranges.length === 0) return
  const what = 'Removing what is not kept any more'
  await tellArchive(programs.prune(first), { project: row.id, what, signal }, { engine, reveal })
}

/** As its settings say: then a base can be made without stopping it. */
async function runs(
  { id, desired }: ProjectRow,
  { row, programs }: SeenArchive,
  { engine }: ArchiveKeeperOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (desired !== 'running' || programs === null) return false
  const observed = await engine.observe(id, signal)
  const isSame = (fingerprint: string | null | undefined) => fingerprint === programs.workload.fingerprint
  return observed.some((one) => one.ref.workload === row.data && one.state === 'running' && isSame(one.fingerprint))
}

async function makeBase(
  tx: Transaction,
  row: ProjectRow,
  { database, base: id, archive }: { readonly database: string; readonly base: string; readonly archive: string },
  { store }: ArchiveKeeperOptions,
) {
  const subject = snapshotSubject(row.spec, database)
  if (subject === null) throw new ProblemError('not_found', 'The database is gone.')
  // No person can choose such a name.
  const request = { id, name: `base_${id}`, source: 'base', archive }
  return acceptAlone(tx, store, row, { actor: 'system', requestId: '' }, { subject, request }, 'snapshot')
}

function isBusy(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'busy'
}

async function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
}
