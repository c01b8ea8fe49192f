import { type Orphan, ProblemError } from '@stackquay/contract'
import { planProject } from '@stackquay/domain'
import type { ApplyContext, Aside, Change, Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'

export interface OrphanDeps {
  readonly engine: Pick<
    Engine,
    'projects' | 'observe' | 'plan' | 'apply' | 'dataNames' | 'asides' | 'removeAside' | 'removeLogs' | 'commands'
  >
  readonly store: Pick<Store, 'projects' | 'runs' | 'trash' | 'transaction'>
}

/** What engines hold for projects and test runs that nobody knows any more, and data that lies aside for no item of the trash. */
export async function findOrphans(deps: OrphanDeps, signal: AbortSignal): Promise<readonly Orphan[]> {
  const { engine, store } = deps
  const items = await store.trash.all()
  const projects = (await store.projects.all()).map(({ id }) => id)
  const known = new Set([...projects, ...items.map(({ project }) => project), ...(await store.runs.ids())])
  const orphans: Orphan[] = []
  for (const id of await engine.projects(signal)) {
    if (!known.has(id)) orphans.push(await orphanOf(id, deps, signal))
    else {
      const asides = await unknownAsides(id, deps, signal)
      const names = asides.map(({ name }) => name)
      if (asides.length > 0) orphans.push({ id, workloads: [], data: [], asides: names })
    }
  }
  return orphans
}

async function unknownAsides(project: string, { engine, store }: OrphanDeps, signal: AbortSignal) {
  const asides = await engine.asides(project, signal)
  if (asides.length === 0) return []
  const known = new Set((await store.trash.ofProject(project)).map(({ id }) => id))
  return asides.filter(({ key }) => !known.has(key))
}

/** Removes it, its data only when told, and answers what was removed. One that somebody owns is refused. */
export async function removeOrphan(
  id: string,
  data: 'keep' | 'delete',
  deps: OrphanDeps,
  context: RequestContext,
): Promise<Orphan> {
  const { engine, store } = deps
  const asides = await unknownAsides(id, deps, context.signal)
  const [item] = await store.trash.ofProject(id)
  const owner = (await store.projects.find(id)) ?? (await store.runs.find(id)) ?? item ?? null
  if (owner !== null && asides.length > 0) return removeAsides(id, asides, data, deps, context)
  if (owner !== null)
    throw new ProblemError(
      'conflict',
      `"${id}" is no orphan: a project, a run or the trash of this instance owns it.`,
      {
        hint: 'Delete the project, or purge it from the trash, instead.',
      },
    )
  if (!(await engine.projects(context.signal)).includes(id))
    throw new ProblemError('not_found', `No engine holds anything of "${id}".`)
  const orphan = await orphanOf(id, deps, context.signal)
  const removed = data === 'delete' ? orphan : { ...orphan, data: [], asides: [] }
  // Written down first: what is deleted then is deleted by somebody.
  await store.transaction((tx) =>
    tx.audit.append(
      context.audit({
        action: 'system.orphan.delete',
        target: id,
        changes: {
          data,
          workloads: orphan.workloads.map(({ name }) => name),
          deletesData: [...removed.data, ...removed.asides],
        },
      }),
    ),
  )
  await endCommands(id, engine, context.signal)
  const observed = await engine.observe(id, context.signal)
  const { changes } = planProject({ wanted: [], observed, goal: 'stopped' })
  const deletions = removed.data.map((name): Change => ({ type: 'deleteData', project: id, data: name }))
  const applying: ApplyContext = { signal: context.signal, output: () => undefined, reveal: async () => '' }
  for (const step of [...changes, ...deletions].flatMap((change) => engine.plan(change)))
    await engine.apply(step, applying)
  if (data === 'delete') for (const aside of asides) await engine.removeAside(id, aside, context.signal)
  await engine.removeLogs(id, context.signal)
  return removed
}

/** Of a project that is known: nothing else of it is touched. */
async function removeAsides(
  id: string,
  asides: readonly Aside[],
  data: 'keep' | 'delete',
  { engine, store }: OrphanDeps,
  context: RequestContext,
): Promise<Orphan> {
  const names = data === 'delete' ? asides.map(({ name }) => name) : []
  const changes = { data, workloads: [], deletesData: names }
  await store.transaction((tx) =>
    tx.audit.append(context.audit({ action: 'system.orphan.delete', target: id, changes })),
  )
  if (data === 'delete') for (const aside of asides) await engine.removeAside(id, aside, context.signal)
  return { id, workloads: [], data: [], asides: names }
}

/** First, so that nothing that people started still uses what is deleted. */
async function endCommands(id: string, { commands }: OrphanDeps['engine'], signal: AbortSignal): Promise<void> {
  for (const ref of await commands.list(signal)) {
    if (ref.project !== id) continue
    await commands.end(ref, signal)
    await commands.remove(ref)
  }
}

async function orphanOf(id: string, deps: OrphanDeps, signal: AbortSignal): Promise<Orphan> {
  const { engine } = deps
  const [observed, data, asides] = await Promise.all([
    engine.observe(id, signal),
    engine.dataNames(id, signal),
    unknownAsides(id, deps, signal),
  ])
  const workloads = observed.map(({ ref, state }) => ({ name: ref.workload, running: state === 'running' }))
  return { id, workloads, data: [...data], asides: asides.map(({ name }) => name) }
}
