import { isDeepStrictEqual } from 'node:util'
import { type FieldError, type Plan, ProblemError, type ProjectPatch } from '@stackquay/contract'
import {
  mergeProject,
  type PlanRequest,
  type ProjectSpec,
  planProject,
  type Resolved,
  sameSpec,
} from '@stackquay/domain'
import type { Change, Engine, Observed } from '@stackquay/engine-api'
import type { Orchestrator } from '@stackquay/orchestrator'
import {
  type NewAuditEntry,
  newId,
  type OperationRow,
  type ProjectRow,
  type Store,
  type Transaction,
} from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import type { Catalogue } from './catalogue.ts'
import { type SetAside, sealEnv, setSecretsAside } from './env-patch.ts'
import type { Model } from './model.ts'
import { refuseErrors } from './prepare.ts'
import type { Resolver } from './resolver.ts'

export interface ChangeDeps {
  readonly store: Store
  readonly model: Model
  readonly resolver: Resolver
  readonly catalogue: Catalogue
  readonly engine: Engine
  orchestrator(): Orchestrator
}

/** A change of a specification, looked at from all sides and not yet written. */
export interface ProposedChange {
  readonly row: ProjectRow
  readonly spec: ProjectSpec
  readonly aside: SetAside
  readonly resolved: Resolved
  readonly changes: readonly Change[]
  readonly plan: Plan
  readonly isChange: boolean
}

/** Rooms 6 to 9: merge, resolve, plan. Throws every problem of the change at once; writes nothing. */
export async function proposeChange(
  row: ProjectRow,
  patch: ProjectPatch,
  deps: ChangeDeps,
  extra: {
    readonly without?: readonly string[]
    readonly deletesData?: readonly string[]
    readonly naming?: 'enables' | 'keeps'
  } = {},
): Promise<ProposedChange> {
  const aside = await setSecretsAside(row.spec, patch.env ?? {}, deps.store)
  const merged = mergeProject(row.spec, patch, aside.env, await deps.catalogue.offers(), extra.naming ?? 'keeps')
  refuseErrors([...aside.errors, ...(merged.ok ? limitsObstacle(deps.engine, row.spec, merged.spec) : merged.errors)])
  const full = merged.ok ? merged.spec : row.spec
  const databases = Object.fromEntries(
    Object.entries(full.databases).filter(([name]) => extra.without?.includes(name) !== true),
  )
  const spec: ProjectSpec = { ...full, databases }
  const resolved = await deps.resolver.resolve({ ...row, spec })
  const isChange = !sameSpec(spec, row.spec)
  // What stood in the way before is no reason to refuse a change that does not touch it.
  if (isChange) {
    const before = new Set((await deps.resolver.resolve(row)).errors.map((error) => error.pointer + error.code))
    refuseErrors(resolved.errors.filter((error) => !before.has(error.pointer + error.code)))
  }
  const observed = await deps.orchestrator().observations.refresh(row.id)
  const { changes, plan } = planOf(deps.engine, resolved, observed, { goal: row.desired }, extra.deletesData ?? [])
  return { row, spec, aside, resolved, changes, plan, isChange }
}

/** An engine that cannot hold a program to its limits must not let a person believe that it does. */
export function limitsObstacle(engine: Engine, before: ProjectSpec, after: ProjectSpec): readonly FieldError[] {
  const { limits } = after
  if (engine.capabilities.limits || limits === null || isDeepStrictEqual(limits, before.limits)) return []
  return (['cpus', 'memoryBytes'] as const).flatMap((field) =>
    limits[field] === null
      ? []
      : [
          {
            pointer: `/limits/${field}`,
            code: 'engine_cannot',
            detail: `The engine "${engine.id}" cannot limit what a program uses. Leave it out or send null.`,
          },
        ],
  )
}

/** The plan as it is shown: the same functions that the operation runs, over what is there now. */
export function planOf(
  engine: Engine,
  resolved: Resolved,
  observed: readonly Observed[],
  request: Partial<PlanRequest> & Pick<PlanRequest, 'goal'>,
  deletesData: readonly string[],
): { readonly changes: readonly Change[]; readonly plan: Plan } {
  const result = planProject({ wanted: resolved.workloads, observed, ...request })
  const project = resolved.workloads[0]?.ref.project ?? observed[0]?.ref.project ?? ''
  const changes: readonly Change[] = [
    ...result.changes,
    ...deletesData.map((data): Change => ({ type: 'deleteData', project, data })),
  ]
  const steps = changes.flatMap((change) => {
    const because = change.type === 'replace' ? [...change.because] : []
    const workload =
      change.type === 'start' || change.type === 'replace'
        ? change.workload.ref.workload
        : change.type === 'deleteData'
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
        warnings: resolved.errors.map((error) => error.detail),
      },
    },
  }
}

/** Room 10: specification, operation, audit entry and event in one transaction; then the orchestrator is told. */
export async function writeChange(
  proposed: ProposedChange,
  context: RequestContext,
  action: string,
  deps: ChangeDeps,
  input: Readonly<Record<string, unknown>> = {},
): Promise<OperationRow | null> {
  const { row, aside } = proposed
  const needsWork = proposed.changes.length > 0 || Object.keys(input).length > 0
  const operation = await deps.store.transaction(async (tx) => {
    await refuseBusy(deps.store, row)
    const spec = await sealEnv(tx, row.id, proposed.spec, aside)
    const changed = await tx.projects.update(row.id, row.generation, { spec })
    const queued = needsWork ? await queueOperation(tx, 'update', row.id, context, input) : null
    await tx.audit.append(
      context.audit({
        action,
        target: row.slug,
        project: row.id,
        changes: changesOf(row.spec, spec),
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
  await deps.model.renew(row.id)
  if (operation !== null) submit(operation, deps)
  return operation
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

/** Before and after, only where they differ; secrets are names in a specification, so none can be in it. */
export function changesOf(before: ProjectSpec, after: ProjectSpec): NewAuditEntry['changes'] {
  const changed: Record<string, { before: unknown; after: unknown }> = {}
  const flat = (spec: ProjectSpec): Record<string, unknown> => ({
    name: spec.name,
    ...Object.fromEntries(Object.entries(spec.runtimes).map(([name, value]) => [`runtimes.${name}`, value])),
    ...Object.fromEntries(Object.entries(spec.services).map(([name, value]) => [`services.${name}`, value])),
    ...Object.fromEntries(Object.entries(spec.databases).map(([name, value]) => [`databases.${name}`, value])),
    ...Object.fromEntries(
      Object.entries(spec.env).map(([name, variable]) => [
        `env.${name}`,
        variable.secret ? `secret, version ${variable.ref.version}` : variable.value,
      ]),
    ),
    healthCheck: spec.healthCheck,
    limits: spec.limits,
  })
  const old = flat(before)
  const now = flat(after)
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (JSON.stringify(old[name]) !== JSON.stringify(now[name]))
      changed[name] = { before: old[name] ?? null, after: now[name] ?? null }
  }
  return changed
}
