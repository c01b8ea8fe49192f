import { databaseTypes, type SecretField, type ServiceFields, serviceTypeOf } from '@stackquay/catalog'
import type { FieldError, Plan, ProjectPatch } from '@stackquay/contract'
import {
  asksAboutData,
  changedFields,
  changesOf,
  databaseWorkload,
  goalOf,
  mergeProject,
  type Offers,
  type ProjectSpec,
  type Resolved,
  sameSpec,
  touchedBy,
  type VersionChange,
  withPrimaryMarked,
  withVersionsOf,
} from '@stackquay/domain'
import type { Change, Engine } from '@stackquay/engine-api'
import type { Observations, Orchestrator } from '@stackquay/orchestrator'
import { ChangedError, newId, type OperationRow, type ProjectRow, type Store, type Transaction } from '@stackquay/store'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { RequestContext } from '../http/handler.ts'
import { refuseTakenPages } from '../service-pages/page-taken.ts'
import type { Workers } from '../workers/workers.ts'
import { type Accepted, acceptAct, acceptAlone, acceptQuietlyAt, begin, busy, type Stand, standNow } from './accept.ts'
import type { EngineChoice } from './engine-choice.ts'
import { limitsBlocker } from './engine-limits.ts'
import { type ExtractedSecrets, extractSecrets, sealSpec } from './extract-secrets.ts'
import { leftBehind } from './left-behind.ts'
import type { Model } from './model.ts'
import { planOf, standOf } from './plan.ts'
import { randomText, refuseErrors } from './prepare.ts'
import { doomedData, type Removal, removalOf, withSnapshots } from './removal.ts'
import type { Resolver } from './resolver.ts'
import { deletedBy, togetherBlocker, type VersionChanges, withVersions } from './version-changes.ts'

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
  readonly observations: Observations
  readonly orchestrator: Orchestrator
  /** What changes of the versions of databases and services are looked at with. */
  readonly versions: VersionChanges
  /** Until when the trash keeps what is deleted now. */
  trashUntil(): string
}

/** A change of a specification, looked at from all sides and not yet written. */
export interface ProposedChange {
  readonly row: ProjectRow
  readonly spec: ProjectSpec
  /** What the specification resolves to; secrets that the change sets are still to be sealed. */
  readonly resolved: Resolved
  readonly extracted: ExtractedSecrets
  readonly changes: readonly Change[]
  readonly plan: Plan
  readonly isChange: boolean
  /** Whether it may make any workload different. */
  readonly isAboutPrograms: boolean
  readonly removal: Removal
  /** Databases and services whose data is to become that of another release line, before the rest is carried out. */
  readonly versions: readonly VersionChange[]
  readonly rotates: readonly SecretField[]
  /** Workloads that the change makes different; the operation leaves all others as they are. */
  readonly touches: readonly string[]
  /** What ran and waited when it was looked at: the plan stands on what that is to reach. */
  readonly after: readonly OperationRow[]
  /** What was decided by the data that was there; it holds only while nobody else acts on the project. */
  readonly look: { readonly busyWith: OperationRow | null } | null
  /** To what was carried out last: where nothing differs from it, nothing is left to be done. */
  readonly goesBack: boolean
}

export interface ChangeOptions {
  /** What a runtime or service means that is named without `enabled` and was never configured. */
  readonly naming?: 'enables' | 'keeps'
  /** A database that is dropped with its data; what an earlier attempt left of it too. */
  readonly drops?: { readonly name: string; readonly type: string }
  /** Secrets that get a new text, the workload that must learn it, and where what stands in its way is told. */
  readonly rotates?: { readonly workload: string; readonly pointer: string; readonly secrets: readonly SecretField[] }
  /** What is deleted does not go to the trash. */
  readonly purge?: boolean | undefined
  /** Somebody reads the plan. What is carried out at once is looked at by its operation. Default: true. */
  readonly isShown?: boolean
}

/** Merges, then resolves and plans. Throws every problem of the change at once; writes nothing. */
export async function proposeChange(
  row: ProjectRow,
  patch: ProjectPatch,
  deps: ChangeDeps,
  { naming = 'keeps', drops, rotates: rotation, purge = false, isShown = true }: ChangeOptions = {},
): Promise<ProposedChange> {
  const { store } = deps
  const extracted = await extractSecrets(row.spec, patch, store)
  const added = Object.keys(extracted.patch.databases ?? {}).filter((name) => !Object.hasOwn(row.spec.databases, name))
  const asks = asksAboutData(row.spec, extracted.patch)
  const look = asks ? { busyWith: await store.operations.active(row.id) } : null
  const data = asks || added.length > 0 ? await dataOf(row.id, deps) : new Map<string, string | null>()
  const earlier = deps.versions.earlier(row)
  const mergeWith = (offers: Offers) =>
    mergeProject(row.spec, extracted.patch, extracted.env, offers, naming, data, earlier)
  const first = mergeWith(await deps.catalogue.offers(row.engine))
  const merged = first.ok || !isMissing(first.errors) ? first : mergeWith(await deps.catalogue.offersAnew(row.engine))
  refuseErrors([
    ...extracted.errors,
    ...(merged.ok
      ? [
          ...limitsBlocker(deps.engines.named(row.engine), row.spec, merged.spec),
          ...leftDataBlocker(merged.spec, added, data),
          ...togetherBlocker(merged),
        ]
      : merged.errors),
  ])
  const full = merged.ok ? merged.spec : row.spec
  await refuseTakenPages(row, full, deps)
  const spec: ProjectSpec = drops === undefined ? full : { ...full, databases: withoutDatabase(full, drops.name) }
  const dropped = drops === undefined ? undefined : { ...drops, settings: row.spec.databases[drops.name] ?? null }
  const removed = await withSnapshots(row.id, removalOf(merged.ok ? merged.removesData : [], dropped), store)
  const removal = { ...removed, ...(purge ? { purge } : {}) }
  const versions = merged.ok ? merged.versions : []
  return proposeSpec(row, { spec, extracted, removal, versions, rotation, look, goesBack: false, isShown }, deps)
}

/** What a project is to become: its specification, and what comes with it. */
export interface Wanted
  extends Pick<ProposedChange, 'spec' | 'extracted' | 'removal' | 'versions' | 'look' | 'goesBack'> {
  readonly rotation?: ChangeOptions['rotates']
  readonly isShown: boolean
}

/** The second half of a proposal: resolves and plans. Throws what newly stands in the way; writes nothing. */
export async function proposeSpec(
  row: ProjectRow,
  { spec, extracted, removal, versions, rotation, look, goesBack, isShown }: Wanted,
  deps: ChangeDeps,
): Promise<ProposedChange> {
  const { engine, resolver, store } = deps
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
  const { observed, after } = await standOf(row, before, deps, isShown ? 'now' : 'lastSeen')
  const goesToTrash = removal.deleteData.length > 0 && removal.purge !== true
  const trashUntil = goesToTrash ? deps.trashUntil() : null
  const deletesData = doomedData(removal)
  const snapshots = deletesData.length === 0 ? [] : await store.snapshots.of(row.id)
  const shown = { deletesData, snapshots, trashUntil, changes: changedFields(row.spec, spec) }
  // Sent back as it is, nothing happens, whatever state the project is in.
  const isNothing = !isChange && rotates.length + removal.deleteData.length === 0
  const touches = isNothing
    ? []
    : unique([
        ...touchedBy(before.workloads, resolved.workloads),
        ...(after.length > 0 ? [] : await leftBehind(row, before.workloads, observed, store)),
      ])
  const request = { goal: isNothing ? ('running' as const) : goalOf(row.desired), before: before.workloads, touches }
  const wanted = isNothing ? { ...resolved, unresolved: observed.map((one) => one.ref.workload) } : resolved
  const planned = planOf(engine, wanted, observed, request, { ...shown, after })
  const { changes } = planned
  const world = {
    kinds: before.kinds,
    observed,
    unresolved: before.unresolved,
    isUp: goalOf(row.desired) === 'running',
  }
  const plan = await withVersions(planned.plan, row, versions, world, deps.versions)
  return {
    row,
    spec,
    resolved,
    extracted,
    changes,
    plan,
    isChange,
    isAboutPrograms,
    removal,
    versions,
    rotates,
    touches,
    after,
    look,
    goesBack,
  }
}

/** Whether a program that somebody may have installed meanwhile is all or part of what is wrong. */
export function isMissing(errors: readonly FieldError[]): boolean {
  return errors.some(({ code }) => code === 'unavailable_here')
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
function leftDataBlocker(
  spec: ProjectSpec,
  added: readonly string[],
  data: ReadonlyMap<string, unknown>,
): readonly FieldError[] {
  return added.flatMap((name) => {
    if (!Object.hasOwn(spec.databases, name)) return []
    if (!databaseTypes.some((kind) => data.has(databaseWorkload(kind.name, name)))) return []
    const detail = `Data of a database "${name}" that was dropped is still there. Drop it again (DELETE …/databases/${name}?confirm=${name}), or choose another name.`
    return [{ pointer: `/databases/${name}`, code: 'data_exists', detail }]
  })
}

/** Writes specification, operation, audit entry and event in one transaction; then tells the orchestrator. */
export async function writeChange(
  proposed: ProposedChange,
  context: RequestContext,
  action: string,
  deps: ChangeDeps,
  more: (tx: Transaction) => Promise<void> = async () => {},
): Promise<OperationRow | null> {
  const { row, extracted, removal, look } = proposed
  const { store } = deps
  const { accepted, changed } = await store.transaction(async (tx) => {
    const stand = await unmoved(store, proposed)
    const accepted = await accept(tx, proposed, context, stand, deps)
    if (look !== null) await refuseChanged(store, row, look)
    const wanted = await sealSpec(tx, row.id, proposed.spec, extracted)
    // The operation writes the new version when the data is of it.
    const spec = withVersionsOf(wanted, proposed.versions, 'from')
    for (const { name, length } of proposed.rotates) await tx.secrets.put(row.id, name, randomText(length))
    // Nothing is to be done for it. What an earlier change has not reached is still to be done, unless this one takes it back.
    const isAsHeld =
      goalOf(row.desired) === 'stopped' ||
      proposed.goesBack ||
      row.observedGeneration === row.generation ||
      (row.heldSpec !== null && sameSpec({ ...spec, name: row.heldSpec.name }, row.heldSpec))
    const isCarriedOut = accepted === null && isAsHeld
    const changed = await tx.projects.update(row.id, row.generation, { spec, isCarriedOut })
    await rememberKeptData(tx, row, spec)
    await more(tx)
    const deleted = deletedBy(proposed)
    const purges = removal.purge === true ? { purge: true } : {}
    const deletesData = deleted.length > 0 ? { deletesData: deleted, ...purges } : {}
    await tx.audit.append(
      context.audit({
        action,
        target: row.slug,
        project: row.id,
        changes: { ...changesOf(row.spec, wanted), ...deletesData },
        ...(accepted === null ? {} : { operationId: accepted.operation.id }),
      }),
    )
    await tx.events.append({
      type: 'project.changed',
      project: row.id,
      data: { id: row.id, slug: row.slug, generation: changed.generation },
    })
    return { accepted, changed }
  })
  const isNew = accepted?.isNew === true
  // Its operation resolves it again, and remembers what was read of the source; where none is needed, nothing was read.
  const isKnown =
    (isNew || (accepted === null && !proposed.isAboutPrograms)) &&
    proposed.versions.length === 0 &&
    extracted.texts.size + extracted.dropped.length + proposed.rotates.length === 0
  if (proposed.isAboutPrograms) deps.resolver.handOver(row.id, (isNew ? 1 : 0) + (isKnown ? 0 : 1))
  // First, so that nobody sees the change without the operation that holds the project for it.
  if (accepted !== null) begin(accepted, deps)
  if (isKnown) deps.model.changed(changed, proposed.resolved)
  else await deps.model.renew(row.id, proposed.isAboutPrograms ? 'handedOver' : 'remembered')
  return accepted?.operation ?? null
}

/** The operation that carries the change out; null when there is nothing to do. */
async function accept(
  tx: Transaction,
  { row, changes, removal, versions, rotates, touches }: ProposedChange,
  context: RequestContext,
  stand: Stand,
  { store }: ChangeDeps,
): Promise<Accepted | null> {
  const update = { do: 'update', touches } as const
  if (versions.length > 0) {
    const requests = versions.map((change) => ({ ...change, before: newId('bak') }))
    return acceptAlone(tx, store, row, context, { acts: [update], versions: requests })
  }
  const removes = removal.deleteData.length > 0
  if (removes || rotates.length > 0) {
    const input = { acts: [update], ...(removes ? removal : {}) }
    if (removes || changes.length > 0) return acceptAlone(tx, store, row, context, input)
    acceptQuietlyAt(stand, row, 'alone')
    return null
  }
  if (changes.length > 0) return acceptAct(tx, store, row, update, context)
  acceptQuietlyAt(stand, row, 'merge')
  return null
}

/**
 * Whether there is anything to do was decided by what was there. A start that was accepted since would carry out the settings from
 * before this change, and nobody the new ones. Throws `ChangedError`.
 */
async function unmoved(store: Store, { row, after }: ProposedChange): Promise<Stand> {
  const stand = await standNow(store, row)
  const { now, unfinished } = stand
  const isSame =
    now !== null &&
    now.desired === row.desired &&
    now.observedGeneration === row.observedGeneration &&
    unfinished.length === after.length &&
    unfinished.every(({ id }, at) => id === after[at]?.id)
  if (!isSame)
    throw new ChangedError(`Project ${row.id} is not in the state any more in which the change was looked at.`)
  return stand
}

/** Which data there is was looked at before; nothing may have run since then that could have made some. */
async function refuseChanged(
  store: Store,
  row: ProjectRow,
  { busyWith }: NonNullable<ProposedChange['look']>,
): Promise<void> {
  if (busyWith === null && (await store.projects.find(row.id))?.revision === row.revision) return
  if (busyWith !== null) throw busy(busyWith, row)
  throw new ChangedError(`Project ${row.id} was changed since its data was looked at.`)
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
  return settings.enabled && serviceTypeOf(name)?.runsHere?.(settings) !== false
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)]
}
