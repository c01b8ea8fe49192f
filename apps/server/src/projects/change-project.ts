import { isDeepStrictEqual } from 'node:util'
import { databaseKindOf, databaseKinds, type SecretField, type ServiceFields, serviceKindOf } from '@stackquay/catalog'
import { type FieldError, type Plan, ProblemError, type ProjectPatch } from '@stackquay/contract'
import {
  asksAboutData,
  changedFields,
  changesOf,
  databaseSecret,
  databaseWorkload,
  mergeProject,
  type Offers,
  type PlanRequest,
  type ProjectSpec,
  planProject,
  type Resolved,
  sameSpec,
  serviceSecret,
  touchedBy,
  withPrimaryMarked,
} from '@stackquay/domain'
import type { Change, Engine, Observed, Workload } from '@stackquay/engine-api'
import type { Orchestrator } from '@stackquay/orchestrator'
import { newId, type OperationRow, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { Workers } from '../workers/workers.ts'
import type { Catalogue } from './catalogue.ts'
import type { EngineChoice } from './engine-choice.ts'
import type { Model } from './model.ts'
import { randomText, refuseErrors } from './prepare.ts'
import { removalsOf } from './removals.ts'
import type { Resolver } from './resolver.ts'
import { type SetAside, sealSpec, setSecretsAside } from './secrets-aside.ts'

export interface ChangeDeps {
  readonly store: Store
  readonly model: Model
  readonly resolver: Resolver
  readonly catalogue: Catalogue
  /** All engines as one: each project is held by its own. */
  readonly engine: Engine
  readonly engines: EngineChoice
  /** For what may take long because of what was sent. */
  readonly workers: Pick<Workers, 'run'>
  orchestrator(): Orchestrator
}

/** A change of a specification, looked at from all sides and not yet written. */
export interface ProposedChange {
  readonly row: ProjectRow
  readonly spec: ProjectSpec
  readonly aside: SetAside
  readonly changes: readonly Change[]
  readonly plan: Plan
  readonly isChange: boolean
  /** Whether it may make any workload different. */
  readonly isAboutPrograms: boolean
  readonly removal: Removal
  readonly rotates: readonly SecretField[]
  /** Workloads that the change makes different; the operation leaves all others as they are. */
  readonly touches: readonly string[]
  /** What was decided by the data that was there; it holds only while nobody else acts on the project. */
  readonly look: { readonly busyWith: OperationRow | null } | null
}

/** What goes for good; empty for most changes. */
export interface Removal {
  readonly deleteData: readonly string[]
  readonly deleteSecrets: readonly string[]
  readonly releasePorts: readonly string[]
}

export interface ChangeOptions {
  /** What a runtime or service means that is named without `enabled` and was never configured. */
  readonly naming?: 'enables' | 'keeps'
  /** A database that is dropped with its data; what an earlier attempt left of it too. */
  readonly drops?: { readonly name: string; readonly type: string }
  /** Secrets that get a new text, the workload that must learn it, and where what stands in its way is told. */
  readonly rotates?: { readonly workload: string; readonly pointer: string; readonly secrets: readonly SecretField[] }
}

/** Merges, resolves and plans. Throws every problem of the change at once; writes nothing. */
export async function proposeChange(
  row: ProjectRow,
  patch: ProjectPatch,
  deps: ChangeDeps,
  { naming = 'keeps', drops, rotates: rotation }: ChangeOptions = {},
): Promise<ProposedChange> {
  const { engine, resolver, store } = deps
  const aside = await setSecretsAside(row.spec, patch, store)
  const added = Object.keys(aside.patch.databases ?? {}).filter((name) => !Object.hasOwn(row.spec.databases, name))
  const asks = added.length > 0 || asksAboutData(row.spec.services, aside.patch)
  const look = asks ? { busyWith: await store.operations.active(row.id) } : null
  const data = asks ? await dataOf(row.id, deps) : new Map<string, string | null>()
  const mergeWith = (offers: Offers) => mergeProject(row.spec, aside.patch, aside.env, offers, naming, data)
  const first = mergeWith(await deps.catalogue.offers(row.engine))
  const merged = first.ok || !isMissing(first.errors) ? first : mergeWith(await deps.catalogue.offersAnew(row.engine))
  refuseErrors([
    ...aside.errors,
    ...(merged.ok
      ? [
          ...limitsObstacle(deps.engines.named(row.engine), row.spec, merged.spec),
          ...leftDataObstacle(merged.spec, added, data),
        ]
      : merged.errors),
  ])
  const full = merged.ok ? merged.spec : row.spec
  const spec: ProjectSpec = drops === undefined ? full : { ...full, databases: withoutDatabase(full, drops.name) }
  const removal = removalOf(merged.ok ? merged.removesData : [], drops)
  const rotates = rotation?.secrets ?? []
  const rotated = rotates.map((secret) => secret.name)
  // A name, or nothing at all, changes no program: nobody waits for a process that reads the source.
  const isAboutPrograms = rotates.length > 0 || !sameSpec({ ...spec, name: row.spec.name }, row.spec)
  const resolvedOf = await resolver.look(row, [spec, row.spec], isAboutPrograms ? 'now' : 'remembered')
  const resolved = resolvedOf(spec, rotated)
  // It would go on with the old secret while everything else has the new one.
  if (rotation !== undefined && resolved.unresolved.includes(rotation.workload))
    refuseErrors(resolved.errors.filter(({ pointer }) => pointer.startsWith(`${rotation.pointer}/`)))
  const isChange = !sameSpec(spec, row.spec)
  const before = isChange || rotates.length > 0 ? resolvedOf(row.spec) : resolved
  // What stood in the way before is no reason to refuse a change that does not touch it.
  const known = new Set(before.errors.map((error) => error.pointer + error.code))
  if (isChange) refuseErrors(resolved.errors.filter((error) => !known.has(error.pointer + error.code)))
  const observed = await deps.orchestrator().observations.refresh(row.id)
  const shown = { deletesData: removal.deleteData, changes: changedFields(row.spec, spec) }
  // Sent back as it is, nothing happens, whatever state the project is in.
  const isNothing = !isChange && rotates.length + removal.deleteData.length === 0
  const touches = isNothing
    ? []
    : unique([
        ...touchedBy(before.workloads, resolved.workloads),
        ...(await leftBehind(row, before.workloads, observed, store)),
      ])
  const request = { goal: isNothing ? ('running' as const) : row.desired, before: before.workloads, touches }
  const wanted = isNothing ? { ...resolved, unresolved: observed.map((one) => one.ref.workload) } : resolved
  const { changes, plan } = planOf(engine, wanted, observed, request, shown)
  return { row, spec, aside, changes, plan, isChange, isAboutPrograms, removal, rotates, touches, look }
}

/** Whether a program that somebody may have installed meanwhile is all or part of what is wrong. */
export function isMissing(errors: readonly FieldError[]): boolean {
  return errors.some(({ code }) => code === 'unavailable_here')
}

/** How many of a project's operations are looked through for the last change of it. */
const recentOperations = 20

/**
 * Workloads that an earlier change has not reached, because it failed or was cancelled on the way: they run in the form from
 * before it, or were never started. What an upgrade of ours gave another form is not among them, nor what ended or was stopped.
 */
async function leftBehind(
  row: ProjectRow,
  wanted: readonly Workload[],
  observed: readonly Observed[],
  store: Store,
): Promise<readonly string[]> {
  if (row.desired !== 'running') return []
  const behind = wanted
    .filter(({ ref, fingerprint }) => {
      const now = observed.find((one) => one.ref.workload === ref.workload)
      return now === undefined || (now.fingerprint !== fingerprint && /^(running|waiting)$/.test(now.state))
    })
    .map(({ ref }) => ref.workload)
  if (behind.length === 0) return []
  for (const { kind, state, input } of await store.operations.list({ project: row.id, limit: recentOperations })) {
    if (kind === 'reconcile' || kind === 'stop' || typeof input.workload === 'string') continue
    const touches: unknown = input.touches
    if (kind === 'update' && state !== 'succeeded')
      return Array.isArray(touches) ? behind.filter((name) => touches.includes(name)) : []
    if (state === 'succeeded') return []
  }
  return []
}

function withoutDatabase({ databases }: ProjectSpec, dropped: string): ProjectSpec['databases'] {
  if (!Object.hasOwn(databases, dropped)) return databases
  return Object.fromEntries(Object.entries(withPrimaryMarked(databases)).filter(([name]) => name !== dropped))
}

/** What data there is, and which version wrote it when anybody knows. */
async function dataOf(
  project: string,
  { engine, store }: Pick<ChangeDeps, 'engine' | 'store'>,
): Promise<ReadonlyMap<string, string | null>> {
  const [names, kept] = await Promise.all([
    engine.dataNames(project, AbortSignal.timeout(30_000)),
    store.keptData.of(project),
  ])
  return new Map(names.map((name) => [name, kept.find((one) => one.name === name)?.version ?? null]))
}

/** A dropped database must not come back under its name because its deletion was cut off. */
function leftDataObstacle(
  spec: ProjectSpec,
  added: readonly string[],
  data: ReadonlyMap<string, unknown>,
): readonly FieldError[] {
  return added.flatMap((name) => {
    if (!Object.hasOwn(spec.databases, name)) return []
    if (!databaseKinds.some((kind) => data.has(databaseWorkload(kind.name, name)))) return []
    const detail = `Data of a database "${name}" that was dropped is still there. Drop it again (DELETE …/databases/${name}?confirm=${name}), or choose another name.`
    return [{ pointer: `/databases/${name}`, code: 'data_exists', detail }]
  })
}

/** Data goes with the secrets that open it; of a database also its ports, since nothing of it stays. */
function removalOf(services: readonly string[], database: ChangeOptions['drops']): Removal {
  const removal = {
    deleteData: [...services],
    deleteSecrets: services.flatMap((name) =>
      (serviceKindOf(name)?.secrets ?? []).map((secret) => serviceSecret(name, secret.name)),
    ),
    releasePorts: [] as string[],
  }
  if (database === undefined) return removal
  const workload = databaseWorkload(database.type, database.name)
  removal.deleteData.push(workload)
  removal.releasePorts.push(workload)
  for (const secret of databaseKindOf(database.type)?.secrets ?? [])
    removal.deleteSecrets.push(databaseSecret(database.name, secret.name))
  return removal
}

/** Why an engine sets no limits, and what to do; null when it does, or when nobody knows of it. */
export function limitsUnavailable(engine: Engine | null): string | null {
  if (engine === null || engine.capabilities.limits) return null
  return engine.capabilities.withoutLimits ?? 'Choose an engine that runs containers for the project.'
}

/** An engine that cannot hold a program to its limits must not let a person believe that it does. */
export function limitsObstacle(engine: Engine | null, before: ProjectSpec, after: ProjectSpec): readonly FieldError[] {
  const { limits } = after
  if (engine === null || engine.capabilities.limits) return []
  if (limits === null || isDeepStrictEqual(limits, before.limits)) return []
  const { workloads = {}, ...ofProject } = limits
  const set = (pointer: string, fields: object) =>
    Object.entries(fields).flatMap(([field, value]) => (value === null ? [] : [`${pointer}/${field}`]))
  const pointers = [
    ...set('/limits', ofProject),
    ...Object.entries(workloads).flatMap(([name, own]) => set(`/limits/workloads/${name}`, own)),
  ]
  const detail = `The engine "${engine.id}" cannot limit what a program uses. ${limitsUnavailable(engine)} Leave it out or send null.`
  return pointers.map((pointer) => ({ pointer, code: 'engine_cannot', detail }))
}

/** The plan as it is shown: the same functions that the operation runs, over what is there now. */
export function planOf(
  engine: Engine,
  resolved: Resolved,
  observed: readonly Observed[],
  request: Partial<PlanRequest> & Pick<PlanRequest, 'goal'>,
  {
    deletesData = [],
    changes: fields = [],
  }: { readonly deletesData?: readonly string[]; readonly changes?: Plan['plan']['changes'] } = {},
): { readonly changes: readonly Change[]; readonly plan: Plan } {
  const { workloads: wanted, unresolved } = resolved
  const result = planProject({ wanted, unresolved, observed, ...request })
  const project = wanted[0]?.ref.project ?? observed[0]?.ref.project ?? ''
  const first = deletesData.length === 0 ? [] : removalsOf(result.changes, project, deletesData)
  const changes = [...first, ...result.changes.filter((change) => !first.includes(change))]
  const steps = changes.flatMap((change) => {
    const because = change.type === 'replace' ? [...change.because] : []
    const workload =
      change.type === 'start' || change.type === 'replace'
        ? change.workload.ref.workload
        : change.type === 'deleteData' || change.type === 'strays'
          ? null
          : change.ref.workload
    return engine.plan(change).map((step) => ({ title: step.title, workload, because }))
  })
  return {
    changes,
    plan: {
      plan: {
        steps,
        starts: [...result.summary.starts],
        restarts: [...result.summary.restarts],
        stops: [...result.summary.stops],
        keepsRunning: [...result.summary.keepsRunning],
        deletesData: [...deletesData],
        changes: fields,
        warnings: resolved.errors.map((error) => error.detail),
      },
    },
  }
}

/** Writes specification, operation, audit entry and event in one transaction; then tells the orchestrator. */
export async function writeChange(
  proposed: ProposedChange,
  context: RequestContext,
  action: string,
  deps: ChangeDeps,
): Promise<OperationRow | null> {
  const { row, aside, removal, touches, look } = proposed
  const removes = removal.deleteData.length > 0
  const needsWork = proposed.changes.length > 0 || removes
  const operation = await deps.store.transaction(async (tx) => {
    await refuseBusy(deps.store, row)
    if (look !== null) await refuseChanged(deps.store, row, look)
    const spec = await sealSpec(tx, row.id, proposed.spec, aside)
    const changed = await tx.projects.update(row.id, row.generation, { spec })
    for (const { name, length } of proposed.rotates) await tx.secrets.put(row.id, name, randomText(length))
    await rememberKeptData(tx, row, spec)
    const input = { touches, ...(removes ? removal : {}) }
    const queued = needsWork ? await queueOperation(tx, 'update', row.id, context, input) : null
    await tx.audit.append(
      context.audit({
        action,
        target: row.slug,
        project: row.id,
        changes: { ...changesOf(row.spec, spec), ...(removes ? { deletesData: removal.deleteData } : {}) },
        ...(queued === null ? {} : { operationId: queued.id }),
      }),
    )
    await tx.events.append({
      type: 'project.changed',
      project: row.id,
      data: { id: row.id, slug: row.slug, generation: changed.generation },
    })
    return queued
  })
  if (proposed.isAboutPrograms) deps.resolver.handOver(row.id, operation === null ? 1 : 2)
  // First, so that nobody sees the change without the operation that holds the project for it.
  if (operation !== null) submit(operation, deps)
  await deps.model.renew(row.id, proposed.isAboutPrograms ? 'handedOver' : 'remembered')
  return operation
}

/** Which data there is was looked at before; nothing may have run since then that could have made some. */
async function refuseChanged(
  store: Store,
  row: ProjectRow,
  { busyWith }: NonNullable<ProposedChange['look']>,
): Promise<void> {
  if (busyWith === null && (await store.projects.find(row.id))?.revision === row.revision) return
  throw new ProblemError('busy', `Something else was changing the project "${row.slug}" in the same moment.`, {
    hint: 'Try again.',
  })
}

/** Since when data is kept: from the moment on in which no program of the project uses it any more. */
async function rememberKeptData(tx: Transaction, { id, spec }: ProjectRow, after: ProjectSpec): Promise<void> {
  for (const [name, settings] of Object.entries(after.services)) {
    const isUsed = usesData(name, settings)
    const old = spec.services[name]
    if (old !== undefined && usesData(name, old) !== isUsed) await tx.keptData.setKept(id, name, !isUsed)
  }
}

/** Whether a program of the project runs over the service’s data; one that runs elsewhere does not. */
export function usesData(name: string, settings: ServiceFields): boolean {
  return settings.enabled && serviceKindOf(name)?.runsHere?.(settings) !== false
}

export async function queueOperation(
  tx: Transaction,
  kind: OperationRow['kind'],
  project: string,
  context: Pick<RequestContext, 'actor' | 'requestId'>,
  input: Readonly<Record<string, unknown>>,
): Promise<OperationRow> {
  const operation = await tx.operations.insert({
    id: newId('op'),
    kind,
    project,
    actor: context.actor,
    input,
    requestId: context.requestId,
  })
  await tx.events.append({
    type: 'operation.changed',
    project,
    data: { id: operation.id, kind, project, state: operation.state, steps: [], progress: 0, error: null },
  })
  return operation
}

export function submit(operation: OperationRow, deps: Pick<ChangeDeps, 'model' | 'orchestrator'>): void {
  deps.model.setOperation(operation, operation.project)
  deps.orchestrator().submit({ id: operation.id, project: operation.project, attempts: operation.attempts })
}

/** One operation at a time holds a project. Asked inside the transaction, so that two requests cannot both pass. */
export async function refuseBusy(store: Store, row: Pick<ProjectRow, 'id' | 'slug'>): Promise<void> {
  const active = await store.operations.active(row.id)
  if (active === null) return
  throw new ProblemError('busy', `The operation ${active.id} (${active.kind}) holds the project "${row.slug}".`, {
    hint: `Wait for it (GET /operations/${active.id}?wait=60) or cancel it (POST /operations/${active.id}/cancel).`,
    extensions: { operation: active.id },
  })
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)]
}
