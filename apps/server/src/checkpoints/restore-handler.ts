import { type Plan, ProblemError } from '@stackquay/contract'
import { changedFields, checkpointSpec, dataSince, ownNameBlocker, snapshotName, takenSince } from '@stackquay/domain'
import { type CheckpointRow, newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import { planShown } from '../backups/backup-handlers.ts'
import { requireRoomForData } from '../backups/free-room.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { isMissing } from '../projects/change-project.ts'
import { refuseErrors } from '../projects/prepare.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { requireSlug } from '../projects/require-confirmed.ts'
import { isEnded, operationView } from '../projects/view.ts'
import { type CheckpointDeps, copySteps } from './checkpoint-handlers.ts'
import { type CheckpointSettings, openCheckpoint } from './checkpoint-settings.ts'
import { findCheckpoint, requireCheckpointData } from './find-checkpoint.ts'
import { type CheckpointRoom, roomForCheckpoint } from './room-for-checkpoint.ts'
import { sourceWarnings } from './source-warnings.ts'

export function restoreCheckpointHandler(
  deps: CheckpointDeps,
  { find, holds, wait }: ProjectAnswers,
): Pick<Handlers, 'restoreCheckpoint'> {
  const { store, engine } = deps
  return {
    restoreCheckpoint: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const checkpoint = await findCheckpoint(row, params.checkpoint, store)
      if (query.dryRun !== true) requireSlug(body.confirm, row, 'restore', context)
      holds(row, context)
      await requireCheckpointData(row, checkpoint, engine, context.signal)
      const settings = await openCheckpoint(row.id, checkpoint, store)
      if (body.leaveOutTaken !== true) await refuseTaken(row, settings, deps)
      await refuseUnresolved(row, settings, deps)
      // The copy of what is there holds as much as that does, and neither may become larger than what it replaces.
      const includeRebuildable = settings.without.length === 0
      const room = await roomForCheckpoint(row, { includeRebuildable }, deps, context.signal)
      await requireRoomForData(row.id, room.bytes + growth(checkpoint, room), 'The restore', deps, context.signal)
      if (query.dryRun === true)
        return { status: 200, body: await planOf({ row, checkpoint, settings, room }, deps, context.signal) }
      const name = snapshotName(deps.now(), 'before-restore', await store.checkpoints.of(row.id))
      const before = { id: newId('chk'), name, source: 'before-restore' as const, includeRebuildable }
      const operation = await accept(row, { checkpoint, before }, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
    },
  }
}

/** Host names and published ports that others have by now. */
async function refuseTaken(row: ProjectRow, settings: CheckpointSettings, { store, config }: CheckpointDeps) {
  const [projects, leases] = await Promise.all([store.projects.all(), store.ports.all()])
  const nameOf = (id: string) => `the project "${projects.find((one) => one.id === id)?.slug ?? id}"`
  const hosts = new Map<string, string>()
  for (const { host } of settings.domains) {
    const holder = await store.network.domain(host)
    if (holder !== null && holder.project !== row.id) hosts.set(host, nameOf(holder.project))
    else if (holder === null && ownNameBlocker(host, row.slug, config) !== null)
      hosts.set(host, 'the project of that name')
  }
  const held = { hosts: settings.domains.map(({ host }) => host), ports: settings.ports }
  const taken = takenSince(held, settings.spec, {
    host: (name) => hosts.get(name) ?? null,
    port: (hostPort) => {
      const lease = leases.find((one) => one.hostPort === hostPort && one.project !== row.id)
      return lease === undefined ? null : nameOf(lease.project)
    },
  })
  if (taken.length === 0) return
  throw new ProblemError('conflict', taken.join(' '), {
    hint: 'Give them up there, or send "leaveOutTaken": true: then this project is without these names and gets other ports.',
  })
}

/** A version that is not here any more. What is wrong with the source now is none of the checkpoint’s. */
async function refuseUnresolved(row: ProjectRow, settings: CheckpointSettings, { resolver }: CheckpointDeps) {
  const spec = checkpointSpec(row.spec, settings.spec)
  const resolvedOf = await resolver.look(row, [spec, row.spec], 'now')
  const known = new Set(resolvedOf(row.spec).errors.map((error) => error.pointer + error.code))
  const errors = resolvedOf(spec).errors.filter((error) => !known.has(error.pointer + error.code))
  refuseErrors(errors.filter((error) => isMissing([error])))
}

/** By how much what is put back is larger than what it replaces. */
function growth({ parts }: CheckpointRow, { method, data, sourceBytes }: CheckpointRoom): number {
  const grown = parts.map(({ name, bytes }) => {
    if (name !== 'source' && method === 'copy-on-write') return 0
    const now = name === 'source' ? sourceBytes : (data.find((one) => one.name === name)?.sizeBytes ?? 0)
    return Math.max(0, bytes - now)
  })
  return grown.reduce((sum, bytes) => sum + bytes, 0)
}

interface Planned {
  readonly row: ProjectRow
  readonly checkpoint: CheckpointRow
  readonly settings: CheckpointSettings
  readonly room: CheckpointRoom
}

async function planOf(
  { row, checkpoint, settings, room }: Planned,
  deps: CheckpointDeps,
  signal: AbortSignal,
): Promise<Plan> {
  const { engine, store } = deps
  const observed = await engine.observe(row.id, signal)
  const running = observed.filter(({ state }) => /^(running|waiting)$/.test(state)).map(({ ref }) => ref.workload)
  const held = checkpoint.parts.filter(({ name }) => name !== 'source').map(({ name }) => name)
  const there = room.data.map(({ name }) => name)
  const since = dataSince(there, held)
  const step = (title: string, workload: string | null = null) => ({ title, workload, because: [] })
  const left = (await store.network.domains(row.id)).filter(
    ({ host }) => !settings.domains.some((one) => one.host === host),
  )
  return planShown({
    steps: [
      ...(running.length === 0 ? [] : [step(`Stop what runs: ${running.join(', ')}`)]),
      step('Keep what is there now as a checkpoint before-restore-…'),
      ...copySteps(room),
      ...since.map((name) => step(`Take away the data ${name}, which came later`, name)),
      ...held.map((name) => step(`Put the data ${name} back`, name)),
      step('Put the source folder back'),
      step('Put settings and secrets back'),
      ...(row.desired === 'running' ? [step('Start the project')] : []),
    ],
    restarts: running,
    deletesData: [...since, ...held.filter((name) => there.includes(name))],
    changes: changedFields(row.spec, checkpointSpec(row.spec, settings.spec)) as Plan['plan']['changes'],
    warnings: [
      'Files, data, settings and secrets become those of the checkpoint. Restoring the checkpoint that is made first undoes that.',
      ...(settings.without.length === 0
        ? []
        : [`Folders that are made again stay as they are: ${settings.without.join(', ')}.`]),
      ...left.map(({ host }) => `The host name "${host}" came later and goes.`),
      ...checkpoint.warnings,
      ...(await sourceWarnings(row, deps)),
    ],
  })
}

async function accept(
  row: ProjectRow,
  { checkpoint, before }: { readonly checkpoint: CheckpointRow; readonly before: { readonly id: string } },
  context: RequestContext,
  deps: CheckpointDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const now = (await store.projects.find(row.id)) ?? row
    const input = { checkpoint: checkpoint.id, before, wasApplied: now.observedGeneration === now.generation }
    const made = await acceptAlone(tx, store, row, context, input, 'restore-checkpoint', 'restore')
    if ((await store.checkpoints.find(row.id, checkpoint.id)) === null)
      throw new ProblemError('not_found', `The checkpoint "${checkpoint.name}" was deleted meanwhile.`)
    await tx.audit.append(
      context.audit({
        action: 'checkpoint.restore',
        target: `${row.slug}/${checkpoint.id}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { name: checkpoint.name, before: before.id },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}
