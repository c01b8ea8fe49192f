import { ProblemError } from '@stackquay/contract'
import { type Act, admit, kindOfActs, type Manner, mergeActs, type Unfinished } from '@stackquay/domain'
import type { Orchestrator } from '@stackquay/orchestrator'
import { newId, type OperationRow, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { Model } from './model.ts'
import { outcomeEntry } from './progress-log.ts'

/** Which operation carries a request out. */
export interface Accepted {
  readonly operation: OperationRow
  readonly isNew: boolean
  /** Those that run and are to end, because this one stands against what they do. */
  readonly ends: readonly OperationRow[]
  /** Nothing is before it, so it was written down as begun. */
  readonly isBegun?: boolean
}

type Asker = Pick<RequestContext, 'actor' | 'requestId'>

/** Operations that began before there were acts, or are about one thing alone, say it by their kind. */
export function actsOf({ kind, input }: Pick<OperationRow, 'kind' | 'input'>): readonly Act[] {
  if (input.acts !== undefined) return input.acts as readonly Act[]
  const workload = typeof input.workload === 'string' ? { workload: input.workload } : {}
  switch (kind) {
    case 'start':
    case 'restart': {
      const unpinned = input.unpinned as { reference: string; image: string | null } | undefined
      return [
        {
          do: kind,
          ...workload,
          ...(input.newerImages === true ? { newerImages: true } : {}),
          ...(unpinned === undefined || typeof input.workload !== 'string'
            ? {}
            : { unpinned: [{ workload: input.workload, ...unpinned }] }),
        },
      ]
    }
    case 'stop':
      return [{ do: 'stop', ...workload }]
    case 'sleep':
    case 'wake':
      return [{ do: kind }]
    case 'reconcile':
      return [{ do: 'reconcile' }]
    case 'update':
      return [{ do: 'update', ...(Array.isArray(input.touches) ? { touches: input.touches as string[] } : {}) }]
    case 'create':
    case 'duplicate':
      return [{ do: 'start' }]
    case 'delete':
    case 'backup':
    case 'restore':
    case 'verify':
    case 'import':
    case 'copy-backup':
    case 'fetch-backup':
    case 'delete-copy':
    case 'snapshot':
    case 'restore-snapshot':
    case 'clone':
    case 'checkpoint':
    case 'restore-checkpoint':
    case 'reset':
    case 'pull':
    case 'git':
    case 'deploy':
      return []
    default:
      return kind satisfies never
  }
}

/** Others are let begin, and see themselves that they are cancelled: they have something to take back. */
export function isMerged({ kind, input }: OperationRow): boolean {
  return !takesBack.includes(kind) && input.alone !== true
}

const takesBack: readonly OperationRow['kind'][] = [
  'create',
  'duplicate',
  'delete',
  'backup',
  'restore',
  'verify',
  'import',
  'copy-backup',
  'fetch-backup',
  'delete-copy',
  'snapshot',
  'restore-snapshot',
  'clone',
  'checkpoint',
  'restore-checkpoint',
  'reset',
  'pull',
  'git',
  'deploy',
]

/** It changes nothing that runs: what is asked for meanwhile waits for it. */
export function isQuiet({ kind }: Pick<OperationRow, 'kind'>): boolean {
  return (
    kind === 'backup' ||
    kind === 'verify' ||
    kind === 'snapshot' ||
    kind === 'checkpoint' ||
    kind === 'git' ||
    kind === 'deploy'
  )
}

const copies: readonly OperationRow['kind'][] = ['backup', 'verify', 'snapshot', 'checkpoint']

/** It makes the project: what fails before there are files leaves nothing of it. */
export function createsProject({ kind, input }: Pick<OperationRow, 'kind' | 'input'>): boolean {
  return kind === 'create' || kind === 'duplicate' || (kind === 'restore' && input.creates === true)
}

/** One that runs and waits for the project, as the rules see it. A creation that has its source only starts what it made. */
function seen(
  operation: OperationRow,
  { phase }: Pick<ProjectRow, 'phase'>,
): Unfinished & { readonly row: OperationRow } {
  const { id, kind, input } = operation
  const creates = createsProject(operation)
  const isAlone = kind === 'delete' || (input.alone === true && !isQuiet(operation)) || input.deleteData !== undefined
  const isMerged = !isAlone && !(creates && phase !== 'ready')
  return {
    row: operation,
    id,
    state: operation.state === 'queued' ? 'queued' : 'running',
    acts: isMerged ? actsOf(operation) : null,
    deletes: kind === 'delete',
    isQuiet: isQuiet(operation),
    isOwnCopy: operation.actor === 'system' && copies.includes(kind),
  }
}

/**
 * Inside the transaction that writes the change, so that two requests cannot both be first: the operation that carries `act` out,
 * new or waiting. Throws `busy`.
 */
export async function acceptAct(
  tx: Transaction,
  store: Store,
  row: ProjectRow,
  act: Act,
  context: Asker,
): Promise<Accepted> {
  const admission = await admitted(store, row, 'merge', act)
  const ends = admission.cancels.map((one) => one.row)
  if (admission.type === 'merge') {
    const before = admission.into.row
    const acts = mergeActs(admission.into.acts ?? [], act)
    const operation = await tx.operations.merge(before.id, {
      kind: kindOfActs(acts),
      input: { ...before.input, acts },
      actor: context.actor,
      requestId: context.requestId,
    })
    await tellOperation(tx, operation)
    return { operation, isNew: false, ends }
  }
  const input = { acts: [act], desiredBefore: admission.desired, asleepBefore: admission.asleep }
  return { operation: await queueOperation(tx, kindOfActs([act]), row.id, context, input), isNew: true, ends }
}

/** For what is never merged: only when nothing else runs or waits. A restore begins after what the service copies by itself. */
export async function acceptAlone(
  tx: Transaction,
  store: Store,
  row: ProjectRow,
  context: Asker,
  input: Readonly<Record<string, unknown>>,
  kind: OperationRow['kind'] = 'update',
  manner: 'alone' | 'restore' = 'alone',
): Promise<Accepted> {
  await admitted(store, row, manner)
  return {
    operation: await queueOperation(tx, kind, row.id, context, { ...input, alone: true }),
    isNew: true,
    ends: [],
  }
}

/** What runs or waits is cancelled, then the project goes. */
export async function acceptDelete(
  tx: Transaction,
  store: Store,
  row: ProjectRow,
  context: Asker,
  input: Readonly<Record<string, unknown>>,
): Promise<Accepted> {
  const { cancels } = await admitted(store, row, 'delete')
  const ends = []
  for (const { row: operation, state } of cancels) {
    if (state === 'queued') await cancelWaiting(tx, operation)
    ends.push(operation)
  }
  return { operation: await queueOperation(tx, 'delete', row.id, context, input), isNew: true, ends }
}

/** A change that needs no operation of its own: nothing may run that would not bear it. */
export async function acceptQuietly(store: Store, row: ProjectRow, manner: Exclude<Manner, 'delete'>): Promise<void> {
  acceptQuietlyAt(await standNow(store, row), row, manner)
}

/** The same where the project was read already, in the same transaction. */
export function acceptQuietlyAt(stand: Stand, row: ProjectRow, manner: Exclude<Manner, 'delete'>): void {
  admitAt(stand, row, manner)
}

/** A project and what runs and waits for it, read in the transaction that decides by it. */
export interface Stand {
  readonly now: ProjectRow | null
  readonly unfinished: readonly OperationRow[]
}

export async function standNow(store: Store, { id }: Pick<ProjectRow, 'id'>): Promise<Stand> {
  const [now, unfinished] = await Promise.all([store.projects.find(id), store.operations.unfinishedOf(id)])
  return { now, unfinished }
}

async function admitted(store: Store, row: ProjectRow, manner: Manner, act?: Act) {
  return admitAt(await standNow(store, row), row, manner, act)
}

function admitAt({ now, unfinished }: Stand, row: ProjectRow, manner: Manner, act?: Act) {
  const them = unfinished.map((operation) => seen(operation, now ?? { phase: 'deleting' }))
  const admission = admit(them, manner, act)
  if (admission.type === 'refuse') throw busy(admission.holder.row, row)
  const { desired, asleep } = now ?? row
  return { ...admission, desired, asleep }
}

export function busy(holder: OperationRow, { slug }: Pick<ProjectRow, 'slug'>): ProblemError {
  return new ProblemError('busy', `The operation ${holder.id} (${holder.kind}) holds the project "${slug}".`, {
    hint: `Wait for it (GET /operations/${holder.id}?wait=60) or cancel it (POST /operations/${holder.id}/cancel).`,
    extensions: { operation: holder.id },
  })
}

/** It has done nothing. What people want of the project stays; whether it is to run is again what it was before. */
export async function cancelWaiting(tx: Transaction, operation: OperationRow): Promise<OperationRow> {
  const cancelled = await tx.operations.cancel(operation.id)
  const { desiredBefore, asleepBefore } = operation.input
  const isAboutRunning = actsOf(operation).some((act) => act.do !== 'update' && act.do !== 'reconcile')
  const { project } = operation
  if (project !== null && isAboutRunning && isDesired(desiredBefore))
    await tx.projects.setLifecycle(project, { desired: desiredBefore, asleep: asleepBefore as ProjectRow['asleep'] })
  await tellOperation(tx, cancelled)
  await tx.audit.append(outcomeEntry(cancelled, { state: 'cancelled' }))
  return cancelled
}

function isDesired(value: unknown): value is ProjectRow['desired'] {
  return value === 'running' || value === 'stopped' || value === 'sleeping'
}

export async function queueOperation(
  tx: Transaction,
  kind: OperationRow['kind'],
  project: string | null,
  context: Asker,
  input: Readonly<Record<string, unknown>>,
  begins = false,
): Promise<OperationRow> {
  const operation = await tx.operations.insert({
    id: newId('op'),
    kind,
    project,
    actor: context.actor,
    input,
    requestId: context.requestId,
    begins,
  })
  await tellOperation(tx, operation)
  return operation
}

async function tellOperation(tx: Transaction, { id, kind, project, state, steps, progress, error }: OperationRow) {
  await tx.events.append({
    type: 'operation.changed',
    project,
    data: { id, kind, project, state, steps, progress, error },
  })
}

/** After the transaction: begins the operation, or lets the waiting one rest; ends what stands against it. */
export function begin(
  { operation, isNew, ends, isBegun = false }: Accepted,
  { model, orchestrator }: { readonly model: Model; readonly orchestrator: Orchestrator },
): void {
  for (const { id, project, state } of ends) {
    if (state === 'running') orchestrator.cancel(id)
    else {
      orchestrator.drop(id)
      model.operationEnded(id, project)
    }
  }
  model.setOperation(operation)
  if (isNew) submitted(operation, orchestrator, isBegun)
  else orchestrator.postpone(operation.id)
}

/** Runs a stored operation, after those of its project; one of the instance after those that use the same backup target, or back it up. */
export function submitted(
  { id, project, input, attempts }: OperationRow,
  orchestrator: Orchestrator,
  isBegun = false,
): void {
  orchestrator.submit({ id, project, queue: project ?? String(input.target ?? 'instance'), attempts, isBegun })
}
