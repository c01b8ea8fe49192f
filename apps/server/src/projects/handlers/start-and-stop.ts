import { type Plan, ProblemError } from '@stackquay/contract'
import type { Act, Resolved } from '@stackquay/domain'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Handlers, RequestContext } from '../../http/handler.ts'
import { type Accepted, acceptAct, begin } from '../accept.ts'
import type { ProjectAnswers } from '../answers.ts'
import { isMissing } from '../change-project.ts'
import { requireImages } from '../engine-choice.ts'
import { takeNewDefinitions } from '../new-definitions.ts'
import { planOf, standOf } from '../plan.ts'
import { refuseErrors } from '../prepare.ts'
import { straysOf } from '../strays.ts'
import { isEnded, operationView } from '../view.ts'
import { invalid, type ProjectsDeps, type StartSeed } from './deps.ts'

type Kind = 'start' | 'stop' | 'restart'

interface Input {
  readonly params: { readonly id: string }
  readonly query: { readonly dryRun?: boolean | undefined; readonly wait?: number | undefined }
  readonly body: { readonly workload?: string | undefined; readonly newerImages?: boolean | undefined } | undefined
}

/** What is asked for: of the whole project, or of one workload. */
interface Wish {
  readonly kind: Kind
  readonly workload: string | undefined
  readonly newerImages: boolean
}

export function startAndStopHandlers(
  deps: ProjectsDeps,
  { find, wait, change }: ProjectAnswers,
): Pick<Handlers, 'startProject' | 'stopProject' | 'restartProject'> {
  const act = async (kind: Kind, { params, query, body }: Input, context: RequestContext) => {
    const found = await find(params.id)
    const takes = query.dryRun !== true && (kind === 'restart' || (kind === 'start' && found.desired !== 'running'))
    const row = takes ? await takeNewDefinitions(found, context, deps.addons.now(), { find, change }) : found
    const wish: Wish = { kind, workload: body?.workload, newerImages: body?.newerImages === true }
    if (wish.newerImages) requireImages(row.engine, deps.engines, '/newerImages')
    const resolved = await resolvedNow(row, kind, deps)
    refuseImpossible(wish, resolved)
    const seeds = kind === 'stop' ? [] : await seedsFor(row, wish)
    await deps.seeds.require(row, seeds, context.signal)
    if (query.dryRun === true) return { status: 200, body: withSeeds(await plan(row, wish, resolved, deps), seeds) }
    const accepted = await accept(row, wish, context, deps)
    deps.resolver.handOver(row.id, 1)
    begin(accepted, deps)
    const ended = await wait(accepted.operation, query.wait, context)
    return { status: isEnded(ended) ? 200 : 202, body: operationView(ended) }
  }
  const seedsFor = async (row: ProjectRow, { workload }: Wish) =>
    (await deps.seeds.due(row)).filter(({ data }) => workload === undefined || workload === data)
  return {
    startProject: (input, context) => act('start', input, context),
    stopProject: (input, context) => act('stop', input, context),
    restartProject: (input, context) => act('restart', input, context),
  }
}

/** A program that somebody installed meanwhile is looked for before a start is refused for it. */
async function resolvedNow(row: ProjectRow, kind: Kind, { model, catalogue }: ProjectsDeps): Promise<Resolved> {
  const { resolved } = await model.renew(row.id)
  if (kind === 'stop' || !isMissing(resolved.errors)) return resolved
  await catalogue.offersAnew(row.engine)
  return (await model.renew(row.id)).resolved
}

function refuseImpossible({ kind, workload }: Wish, resolved: Resolved): void {
  if (workload !== undefined && !resolved.workloads.some((candidate) => candidate.ref.workload === workload)) {
    const known = resolved.workloads.map((candidate) => candidate.ref.workload).join(', ')
    throw invalid(
      '/workload',
      'unknown_workload',
      `There is no workload "${workload}"; there is ${known === '' ? 'none' : known}.`,
    )
  }
  if (kind === 'stop') return
  refuseErrors(resolved.errors)
  if (resolved.workloads.length > 0) return
  throw new ProblemError('validation_failed', 'The project has nothing to run.', {
    hint: 'Enable a runtime or add a database first.',
  })
}

async function plan(row: ProjectRow, { kind, workload, newerImages }: Wish, resolved: Resolved, deps: ProjectsDeps) {
  const { observed, after } = await standOf(row, resolved, deps)
  const request = {
    goal: kind === 'stop' ? ('stopped' as const) : ('running' as const),
    restart: kind === 'restart',
    newerImages,
    ...(workload === undefined ? {} : { only: workload }),
    ...(kind === 'stop' ? straysOf(deps.engines.named(row.engine), row.id) : {}),
  }
  return planOf(deps.engine, resolved, observed, request, { after }).plan
}

/** What fills a database comes right behind its start. */
function withSeeds({ plan: shown }: Plan, seeds: readonly StartSeed[]): Plan {
  const filled = (workload: string | null) =>
    seeds
      .filter(({ data }) => data === workload && shown.starts.includes(data))
      .map(({ step }) => ({ title: step, workload, because: ['when there is nothing in it'] }))
  const steps = shown.steps.flatMap((step, at) =>
    shown.steps.slice(at + 1).some(({ workload }) => workload === step.workload)
      ? [step]
      : [step, ...filled(step.workload)],
  )
  return { plan: { ...shown, steps } }
}

/** All of it, also when one workload was asked for: it is to run, and whoever waits at the door is let in. */
async function wakes(id: string, kind: Kind, newerImages: boolean, store: Store): Promise<boolean> {
  return kind !== 'stop' && !newerImages && (await store.projects.find(id))?.desired === 'sleeping'
}

/** The wish, the operation that carries it out, the audit entry and the event in one transaction. */
function accept(
  row: ProjectRow,
  { kind, workload, newerImages }: Wish,
  context: RequestContext,
  { store }: ProjectsDeps,
): Promise<Accepted> {
  return store.transaction(async (tx) => {
    const about = {
      ...(workload === undefined ? {} : { workload }),
      ...(newerImages ? { newerImages } : {}),
    }
    // Before the wanted state is another: a waiting one that is cancelled puts it back.
    const act: Act = (await wakes(row.id, kind, newerImages, store)) ? { do: 'wake' } : { do: kind, ...about }
    const accepted = await acceptAct(tx, store, row, act, context)
    if (kind !== 'stop') await tx.projects.setLifecycle(row.id, { desired: 'running' })
    else if (workload === undefined) await tx.projects.setLifecycle(row.id, { desired: 'stopped' })
    await tx.audit.append(
      context.audit({
        action: `project.${kind}`,
        target: row.slug,
        project: row.id,
        operationId: accepted.operation.id,
        changes: Object.keys(about).length === 0 ? null : about,
      }),
    )
    return accepted
  })
}
