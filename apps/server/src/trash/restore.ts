import { databaseTypeOf } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import { mayEnter, openedByOther, ownNameBlocker, withDatabaseAgain } from '@stackquay/domain'
import { type OperationRow, type ProjectRow, TakenError, type TrashItem } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { RequestContext } from '../http/handler.ts'
import type { Network } from '../network/network.ts'
import { busy } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { type ChangeDeps, proposeSpec, usesData, writeChange } from '../projects/change-project.ts'
import { invalid } from '../projects/handlers/deps.ts'
import { isReserved } from '../projects/handlers/names.ts'
import type { TrashDeps } from './set-aside.ts'
import { undoRestore } from './settle-items.ts'
import { trashEvent } from './trash-view.ts'

export interface RestoreDeps extends ChangeDeps, Pick<TrashDeps, 'config' | 'now'> {
  readonly network: Pick<Network, 'renew'>
  readonly config: Pick<Config, 'trashDays' | 'baseDomain'>
  readonly queues: { enter<T>(project: string, work: () => Promise<T>): Promise<T> }
}

interface Restored {
  readonly project: ProjectRow
  readonly operation: OperationRow | null
}

interface Wish {
  readonly slug?: string | undefined
  readonly leaveOutHosts?: boolean | undefined
}

/**
 * A deleted project as it was, stopped. Its data is put back before the project is there, so nothing can start over none; whatever goes
 * wrong moves it to the trash again.
 */
export async function restoreProject(
  item: TrashItem & { readonly path: string },
  wish: Wish,
  context: RequestContext,
  deps: RestoreDeps,
): Promise<Restored> {
  const { store, model, network } = deps
  const slug = await freeSlug(item, wish, context.principal, deps)
  const withoutHosts = await heldHosts(item, slug, wish, deps)
  const project = await moved(item, deps, () =>
    store.transaction(async (tx) => {
      await tx.trash.returnProject(item.id, { slug, withoutHosts }).catch(orTaken)
      const changes = { item: item.id, slug, withoutHosts, data: item.data.map(({ name }) => name) }
      await tx.audit.append(context.audit({ action: 'trash.restore', target: slug, project: item.project, changes }))
      const data = { id: item.project, slug, name: item.projectName }
      await tx.events.append({ type: 'project.created', project: item.project, data })
      await tx.events.append(trashEvent(item, 'restored'))
    }),
  ).then(async () => (await store.projects.find(item.project))!)
  await network.renew(item.project)
  await model.renew(item.project)
  await model.published(item.project)
  return { project, operation: null }
}

/** Removed data to its project; of a database the settings too, carried out like any other change of them. */
export async function restoreData(
  item: TrashItem,
  context: RequestContext,
  deps: RestoreDeps,
  { again }: Pick<ProjectAnswers, 'again'>,
): Promise<Restored> {
  const { store, queues } = deps
  const found = await store.projects.find(item.project)
  if (found === null)
    throw new ProblemError('conflict', `The project "${item.slug}" was deleted itself.`, {
      hint: 'Restore the project first.',
    })
  const restored = await queues.enter(item.project, async () => {
    await refuseData(item, found, deps)
    return moved(item, deps, () =>
      item.kind === 'database' && item.database !== null
        ? again(found, context, (row) => writeDatabase(item, row, context, deps))
        : writeService(item, context, deps),
    )
  })
  return { project: (await store.projects.find(item.project)) ?? found, operation: restored }
}

/** Written down first, then moved, then `write`: the last act, with which the item is gone. */
async function moved<T>(item: TrashItem, deps: RestoreDeps, write: () => Promise<T>): Promise<T> {
  const { store, engine } = deps
  const restoring = await store.transaction((tx) => tx.trash.setState(item.id, ['kept'], 'restoring'))
  try {
    // Not the caller's signal: whether he waits must not decide how far it gets.
    const signal = AbortSignal.timeout(patienceMs)
    for (const { name } of item.data) await engine.putDataBack(item.project, { name, key: item.id }, signal)
    return await write()
  } catch (error) {
    // Written all the same, it is the project's again.
    if ((await store.trash.find(item.id)) === null) throw error
    // What cannot be moved now is moved by the next look at the trash.
    await undoRestore(restoring, deps).catch(() => undefined)
    throw error
  }
}

const patienceMs = 120_000

/** Other projects are named to those alone who may see them. */
async function freeSlug(
  item: TrashItem & { path: string },
  wish: Wish,
  caller: RequestContext['principal'],
  { store }: RestoreDeps,
): Promise<string> {
  const slug = wish.slug ?? item.slug
  if (wish.slug !== undefined && isReserved(slug)) throw invalid('/slug', 'reserved', `"${slug}" cannot be chosen.`)
  const holder = await store.projects.find(slug)
  if (holder !== null) throw taken(slug, mayEnter(caller, holder.id) ? holder.spec.name : null)
  const other = (await store.projects.all()).find(({ path }) => path === item.path)
  if (other !== undefined)
    throw new ProblemError(
      'conflict',
      mayEnter(caller, other.id)
        ? `Its folder ${item.path} belongs to the project "${other.slug}" now.`
        : `Its folder ${item.path} belongs to another project now.`,
      {
        hint: 'Delete that project first; its source folder stays.',
      },
    )
  return slug
}

function taken(slug: string, by: string | null): ProblemError {
  return new ProblemError(
    'conflict',
    `The name "${slug}" is taken${by === null ? '' : ` by the project "${by}"`} now.`,
    {
      hint: 'Send another "slug".',
      errors: [{ pointer: '/slug', code: 'taken', detail: `"${slug}" is taken.` }],
    },
  )
}

/** Host names that it cannot have again; refused unless they are to be left out. */
async function heldHosts(
  item: TrashItem,
  slug: string,
  { leaveOutHosts }: Wish,
  { store, config }: RestoreDeps,
): Promise<readonly string[]> {
  const held: string[] = []
  for (const host of item.hosts) {
    const isHeld = (await store.network.domain(host)) !== null || ownNameBlocker(host, slug, config) !== null
    if (isHeld) held.push(host)
  }
  if (held.length > 0 && leaveOutHosts !== true)
    throw new ProblemError('conflict', `Other projects have these host names now: ${held.join(', ')}.`, {
      hint: 'Remove them there, or send "leaveOutHosts": true.',
      errors: held.map((host) => ({ pointer: '/leaveOutHosts', code: 'taken', detail: `"${host}" is taken.` })),
    })
  return held
}

/** Taken in the same moment. */
function orTaken(error: unknown): never {
  if (!(error instanceof TakenError)) throw error
  throw new ProblemError('conflict', 'Its slug or one of its host names was taken in this moment.', {
    hint: 'Try again to see which.',
  })
}

async function refuseData(item: TrashItem, { id, slug }: ProjectRow, { store, engine }: RestoreDeps): Promise<void> {
  const row = await store.projects.find(id)
  const [unfinished] = await store.operations.unfinishedOf(id)
  if (row === null || row.phase !== 'ready')
    throw new ProblemError('busy', `The project "${slug}" is being created or deleted.`)
  if (unfinished !== undefined) throw busy(unfinished, row)
  const there = await engine.dataNames(id, AbortSignal.timeout(patienceMs))
  const held = item.data.find(({ name }) => there.includes(name))
  if (held !== undefined)
    throw new ProblemError('conflict', `The project "${slug}" has other data named "${held.name}" now.`, {
      hint: 'Remove that data first: it goes to the trash too.',
    })
  refuseOtherVersion(item, row)
  if (item.kind !== 'database') return
  if (Object.hasOwn(row.spec.databases, item.name))
    throw new ProblemError('conflict', `The project "${slug}" has another database "${item.name}" now.`, {
      hint: 'Drop that one first: it goes to the trash too.',
    })
  if (item.database === null || databaseTypeOf(item.database.type) === undefined)
    throw new ProblemError('unavailable_here', `The settings of the database "${item.name}" are not known.`)
}

/** A change of a version backs data up before another program opens it for good; here nothing would. */
function refuseOtherVersion({ data, writtenBy }: TrashItem, { spec }: ProjectRow): void {
  for (const { name } of data) {
    const change = openedByOther(spec, name, Object.hasOwn(writtenBy, name) ? writtenBy[name]! : null)
    if (change === null) continue
    throw new ProblemError(
      'conflict',
      `The data "${name}" is of version ${change.from}, and ${name} is ${change.to} now.`,
      {
        hint: `Set the version of ${name} to ${change.from}, or switch it off, and restore then. Changing it afterwards backs the data up first.`,
      },
    )
  }
}

async function writeDatabase(
  item: TrashItem,
  row: ProjectRow,
  context: RequestContext,
  deps: RestoreDeps,
): Promise<OperationRow | null> {
  const { name, database } = item
  if (database === null) throw new TypeError('a database without settings was accepted')
  const extracted = { patch: {}, env: {}, texts: new Map(), dropped: [], errors: [] }
  const removal = { deleteData: [], deleteSecrets: [], releasePorts: [] }
  const spec = withDatabaseAgain(row.spec, name, database)
  const proposed = await proposeSpec(
    row,
    { spec, extracted, removal, versions: [], look: null, goesBack: false, isShown: false },
    deps,
  )
  return writeChange(proposed, context, 'trash.restore', deps, async (tx) => {
    await tx.trash.returnData(item.id)
    await tx.events.append(trashEvent(item, 'restored'))
  })
}

async function writeService(item: TrashItem, context: RequestContext, { store, model }: RestoreDeps): Promise<null> {
  await store.transaction(async (tx) => {
    const row = await store.projects.find(item.project)
    const [unfinished] = await store.operations.unfinishedOf(item.project)
    if (row === null || row.phase !== 'ready') throw new ProblemError('conflict', 'The project is gone.')
    if (unfinished !== undefined) throw busy(unfinished, row)
    // Settings may have changed since it was looked at.
    refuseOtherVersion(item, row)
    await tx.trash.returnData(item.id)
    for (const { name } of item.data) {
      const settings = row.spec.services[name]
      await tx.keptData.setKept(row.id, name, settings === undefined || !usesData(name, settings))
    }
    const changes = { item: item.id, data: item.data.map(({ name }) => name) }
    const target = `${row.slug}/${item.name}`
    await tx.audit.append(context.audit({ action: 'trash.restore', target, project: row.id, changes }))
    const { id, slug, generation } = row
    await tx.events.append({ type: 'project.changed', project: id, data: { id, slug, generation } })
    await tx.events.append(trashEvent(item, 'restored'))
  })
  await model.renew(item.project)
  return null
}
