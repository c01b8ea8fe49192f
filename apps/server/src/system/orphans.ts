import { type Orphan, ProblemError } from '@stackquay/contract'
import { planProject } from '@stackquay/domain'
import type { ApplyContext, Change, Engine } from '@stackquay/engine-api'
import type { Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'

export interface OrphanDeps {
  readonly engine: Pick<Engine, 'projects' | 'observe' | 'plan' | 'apply' | 'dataNames' | 'removeLogs' | 'commands'>
  readonly store: Pick<Store, 'projects' | 'runs' | 'transaction'>
}

/** What engines hold for projects and test runs that nobody knows any more. */
export async function findOrphans(deps: OrphanDeps, signal: AbortSignal): Promise<readonly Orphan[]> {
  const { engine, store } = deps
  const known = new Set([...(await store.projects.all()).map(({ id }) => id), ...(await store.runs.ids())])
  const orphans: Orphan[] = []
  for (const id of await engine.projects(signal)) if (!known.has(id)) orphans.push(await orphanOf(id, deps, signal))
  return orphans
}

/** Removes it, its data only when told, and answers what was removed. One that somebody owns is refused. */
export async function removeOrphan(
  id: string,
  data: 'keep' | 'delete',
  deps: OrphanDeps,
  context: RequestContext,
): Promise<Orphan> {
  const { engine, store } = deps
  const owner = (await store.projects.find(id)) ?? (await store.runs.find(id))
  if (owner !== null)
    throw new ProblemError('conflict', `"${id}" is no orphan: a project or a run of this instance owns it.`, {
      hint: 'Delete the project instead.',
    })
  if (!(await engine.projects(context.signal)).includes(id))
    throw new ProblemError('not_found', `No engine holds anything of "${id}".`)
  const orphan = await orphanOf(id, deps, context.signal)
  const removed = data === 'delete' ? orphan : { ...orphan, data: [] }
  // Written down first: what is deleted then is deleted by somebody.
  await store.transaction((tx) =>
    tx.audit.append(
      context.audit({
        action: 'system.orphan.delete',
        target: id,
        changes: { data, workloads: orphan.workloads.map(({ name }) => name), deletesData: removed.data },
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
  await engine.removeLogs(id, context.signal)
  return removed
}

/** First, so that nothing that people started still uses what is deleted. */
async function endCommands(id: string, { commands }: OrphanDeps['engine'], signal: AbortSignal): Promise<void> {
  for (const ref of await commands.list(signal)) {
    if (ref.project !== id) continue
    await commands.end(ref, signal)
    await commands.remove(ref)
  }
}

async function orphanOf(id: string, { engine }: OrphanDeps, signal: AbortSignal): Promise<Orphan> {
  const [observed, data] = await Promise.all([engine.observe(id, signal), engine.dataNames(id, signal)])
  const workloads = observed.map(({ ref, state }) => ({ name: ref.workload, running: state === 'running' }))
  return { id, workloads, data: [...data] }
}
