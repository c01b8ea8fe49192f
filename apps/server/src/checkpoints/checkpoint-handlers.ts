import { type Plan, ProblemError } from '@stackquay/contract'
import { checkpointBlocker, checkpointOfData, snapshotName } from '@stackquay/domain'
import { type CheckpointRow, newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { bytesText, requireRoomForData } from '../backups/free-room.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin, busy } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { operationView } from '../projects/view.ts'
import { checkpointView, findCheckpoint } from './find-checkpoint.ts'
import { forgetCheckpointRow } from './forget-row.ts'
import { type CheckpointRoom, type RoomDeps, roomForCheckpoint } from './room-for-checkpoint.ts'
import { type SourceWarningDeps, sourceWarnings } from './source-warnings.ts'

export interface CheckpointDeps extends ChangeDeps, RoomDeps, SourceWarningDeps {
  readonly config: Pick<Config, 'home' | 'baseDomain'>
  readonly now: () => Date
}

export function checkpointHandlers(
  deps: CheckpointDeps,
  { find, wait }: ProjectAnswers,
): Pick<Handlers, 'listCheckpoints' | 'getCheckpoint' | 'createCheckpoint' | 'deleteCheckpoint'> {
  const { store } = deps
  return {
    listCheckpoints: async ({ params }) => {
      const known = await store.checkpoints.of((await find(params.id)).id)
      return { status: 200, body: { items: known.map(checkpointView) } }
    },

    getCheckpoint: async ({ params }) => {
      const found = await findCheckpoint(await find(params.id), params.checkpoint, store)
      return { status: 200, body: checkpointView(found) }
    },

    createCheckpoint: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const known = await store.checkpoints.of(row.id)
      const name = body?.name ?? snapshotName(deps.now(), 'checkpoint', known)
      refuseBlocked(known, name)
      const includeRebuildable = body?.includeRebuildable === true
      const room = await roomForCheckpoint(row, { includeRebuildable }, deps, context.signal)
      await requireRoomForData(row.id, room.bytes, 'The checkpoint', deps, context.signal)
      if (query.dryRun === true) return { status: 200, body: await planOf(row, room, deps, context.signal) }
      const request = { id: newId('chk'), name, source: 'manual' as const, includeRebuildable }
      const operation = await accept(row, request, context, deps)
      const ended = await wait(operation, query.wait, context)
      const made = ended.state === 'succeeded' ? await store.checkpoints.find(row.id, request.id) : null
      return made === null
        ? { status: 202, body: operationView(ended) }
        : {
            status: 201,
            body: checkpointView(made),
            headers: { location: `/api/v1/projects/${row.id}/checkpoints/${made.id}` },
          }
    },

    deleteCheckpoint: async ({ params }, context) => {
      const row = await find(params.id)
      await remove(row, await findCheckpoint(row, params.checkpoint, store), context, deps)
      return { status: 204 }
    },
  }
}

function refuseBlocked(known: readonly CheckpointRow[], name: string): void {
  const blocker = checkpointBlocker(known, name)
  if (blocker !== null) throw new ProblemError('conflict', blocker)
}

async function planOf(row: ProjectRow, room: CheckpointRoom, deps: CheckpointDeps, signal: AbortSignal): Promise<Plan> {
  const observed = await deps.engine.observe(row.id, signal)
  const running = observed.filter(({ state }) => /^(running|waiting)$/.test(state)).map(({ ref }) => ref.workload)
  const stops = { title: `Stop what runs: ${running.join(', ')}`, workload: null, because: [] }
  return planShown({
    steps: [
      ...(running.length === 0 ? [] : [stops]),
      ...copySteps(room),
      ...(running.length === 0 ? [] : [{ title: 'Start what ran', workload: null, because: [] }]),
    ],
    restarts: running,
    warnings: [
      ...(running.length === 0
        ? []
        : ['Everything stops for the copies; requests wait meanwhile, at most half a minute.']),
      ...(await sourceWarnings(row, deps)),
    ],
  })
}

export function copySteps({ method, data, sourceBytes }: CheckpointRoom): Plan['plan']['steps'] {
  const how = (bytes: number, shares: boolean) =>
    shares
      ? `The file system shares the blocks (copy-on-write): ${bytesText(bytes)} take no room.`
      : `${bytesText(bytes)} are copied.`
  return [
    { title: 'Keep settings and secrets', workload: null, because: [] },
    ...data.map(({ name, sizeBytes }) => ({
      title: `Copy the data ${name}`,
      workload: name,
      because: [how(sizeBytes, method === 'copy-on-write')],
    })),
    { title: 'Copy the source folder', workload: null, because: [how(sourceBytes, false)] },
  ]
}

async function accept(
  row: ProjectRow,
  request: { readonly id: string; readonly name: string },
  context: RequestContext,
  deps: CheckpointDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, { request }, 'checkpoint')
    // Two requests may have looked at once.
    refuseBlocked(await store.checkpoints.of(row.id), request.name)
    await tx.audit.append(
      context.audit({
        action: 'checkpoint.create',
        target: `${row.slug}/${request.id}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { name: request.name },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}

/** The row first: data without one is swept by the next start, and nobody can begin to restore it. */
async function remove(
  row: ProjectRow,
  { id, name }: CheckpointRow,
  context: RequestContext,
  { store, engine }: CheckpointDeps,
): Promise<void> {
  await store.transaction(async (tx) => {
    const users = await store.operations.unfinishedOf(row.id)
    // Also the one that a restore has just made of what it replaces: it may have to put that back.
    const user = users.find(({ input }) => JSON.stringify(input).includes(id))
    if (user !== undefined) throw busy(user, row)
    await forgetCheckpointRow(tx, row.id, id)
    const entry = { action: 'checkpoint.delete', target: `${row.slug}/${id}`, project: row.id, changes: { name } }
    await tx.audit.append(context.audit(entry))
  })
  const applying = { signal: AbortSignal.timeout(300_000), output: () => undefined, reveal: async () => '' }
  for (const data of await engine.dataNames(row.id, applying.signal)) {
    if (checkpointOfData(data) !== id) continue
    for (const step of engine.plan({ type: 'deleteData', project: row.id, data })) await engine.apply(step, applying)
  }
}
