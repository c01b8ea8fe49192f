import type { AgentAct, AgentTool } from '@stackquay/contract/agent-tools'
import { operationOf } from './arguments.ts'
import type { ApiAnswer, ApiRequest, Caller, CallOptions } from './caller.ts'
import { jsonAnswer, problemAnswer, refusal, type ToolAnswer } from './output.ts'
import type { Plan, PlanRefusal, Plans } from './plans.ts'
import type { Arguments } from './request.ts'

export interface Act {
  readonly tool: AgentTool
  readonly name: string
  readonly act: AgentAct
  readonly args: Arguments
  readonly request: ApiRequest
}

/** Whether it takes two calls. A change does, where it removes something; an action, where the service says that it destroys. */
export async function takesPlan({ act, args, request }: Act, caller: Caller): Promise<boolean> {
  switch (act.confirm) {
    case undefined:
      return false
    case 'always':
      return true
    case 'removals':
      return args.preview === true || request.query.purge === 'true' || removes(request.body)
    case 'destructive': {
      const { json } = await caller.call({ operation: 'listActions', params: { id: request.params.id! }, query: {} })
      const { items = [] } = (json ?? {}) as { items?: { id: string; destructive: boolean }[] }
      return items.some(({ id, destructive }) => id === request.params.action && destructive)
    }
    default:
      return act.confirm satisfies never
  }
}

/** In a merge patch null takes away; data goes where it is said. */
function removes(value: unknown): boolean {
  if (value === null) return true
  if (typeof value !== 'object') return false
  return Object.entries(value as object).some(
    ([name, inner]) => (name === 'removeData' && inner === true) || removes(inner),
  )
}

/** The first of two calls: everything is checked, nothing is done, and what would be done is told. */
export async function planOf(planned: Act, plans: Plans, caller: Caller, options: CallOptions): Promise<ToolAnswer> {
  const { tool, name, act } = planned
  const operation = operationOf(act.operation)
  const project = await projectOf(planned.request, caller, options)
  if (project !== null && 'refused' in project) return project.refused
  const request = withTyped(planned, project)
  const told = await foreseen(request, caller, options)
  if ('refused' in told) return told.refused
  const title = `${operation.summary.split(';')[0]}: ${targetOf(request, project?.slug)}`
  const { id, expiresAt } = plans.add({
    caller: caller.id,
    tool: tool.selector === undefined ? tool.name : `${tool.name} ${name}`,
    title,
    request,
    project: project === null ? null : { ref: project.id, etag: project.etag },
  })
  const shown = {
    plan: id,
    expiresAt,
    does: title,
    ...(told.plan === null ? {} : { foreseen: withoutEmpty(told.plan) }),
    next: 'Nothing is done yet. Tell the person what this does; then call confirm with this plan.',
  }
  return jsonAnswer(await caller.mask(shown, project === null ? [] : [project.id]))
}

/** A plan lists what starts, stops and goes; most of it nothing. */
function withoutEmpty(plan: unknown): unknown {
  if (typeof plan !== 'object' || plan === null) return plan
  return Object.fromEntries(Object.entries(plan).filter(([, value]) => !Array.isArray(value) || value.length > 0))
}

interface PlannedProject {
  readonly id: string
  readonly slug: string
  readonly etag: string
}

async function projectOf(
  { params }: ApiRequest,
  caller: Caller,
  options: CallOptions,
): Promise<PlannedProject | { readonly refused: ToolAnswer } | null> {
  if (params.id === undefined) return null
  const answer = await caller.call({ operation: 'getProject', params: { id: params.id }, query: {} }, options)
  if (answer.status !== 200) return { refused: problemAnswer(answer.json) }
  const { id, slug } = answer.json as { id: string; slug: string }
  return { id, slug, etag: answer.etag ?? '' }
}

/** What the operation wants typed is what the person confirms; and it holds for the project as it is now. */
function withTyped({ act, request }: Act, project: PlannedProject | null): ApiRequest {
  const { typed } = act
  const operation = operationOf(act.operation)
  const name = typed === undefined ? null : typed.of === 'project' ? project?.slug : request.params[typed.of]
  const guards = operation.problems.some((code) => code === 'precondition_failed' || code === 'precondition_required')
  return {
    ...request,
    params: project === null ? request.params : { ...request.params, id: project.id },
    query: typed?.in === 'query' ? { ...request.query, confirm: name! } : request.query,
    ...(typed?.in === 'body' ? { body: { ...(request.body as object | undefined), confirm: name } } : {}),
    headers: { ...request.headers, ...(project !== null && guards ? { 'if-match': `"${project.etag}"` } : {}) },
  }
}

async function foreseen(
  request: ApiRequest,
  caller: Caller,
  options: CallOptions,
): Promise<{ readonly plan: unknown } | { readonly refused: ToolAnswer }> {
  if (operationOf(request.operation).dryRun !== true) {
    const problem = await caller.refusalOf(request)
    return problem === null ? { plan: null } : { refused: problemAnswer(problem) }
  }
  const { wait: _wait, ...query } = request.query
  const answer = await caller.call({ ...request, query: { ...query, dryRun: 'true' } }, options)
  if (answer.status >= 400) return { refused: problemAnswer(answer.json) }
  return { plan: (answer.json as { plan?: unknown }).plan ?? answer.json }
}

function targetOf({ params, query, body }: ApiRequest, slug: string | undefined): string {
  const { id: _id, ...others } = params
  const further = (body ?? {}) as { branch?: string; deploy?: string; paths?: readonly string[] }
  const words = [slug, ...Object.values(others), query.path, further.branch, further.deploy, further.paths?.join(', ')]
  const how = [query.data === 'delete' ? 'with its data' : '', query.purge === 'true' ? 'for good, past the trash' : '']
  const said = how.filter((word) => word !== '').join(', ')
  const target = words
    .filter((word) => word !== undefined && word !== '')
    .join(' / ')
    .slice(0, 300)
  return said === '' ? target : `${target} (${said})`
}

const refusals: Readonly<Record<PlanRefusal | 'plan_stale', string>> = {
  plan_unknown: 'There is no such plan: it was carried out, is older than ten minutes, or is not this token’s.',
  plan_expired: 'The plan is older than five minutes.',
  plan_stale: 'The project was changed since the plan was made.',
}

/** Refuses a confirmation, and writes it down: it may be somebody who tries. */
export async function refuseConfirmation(
  reason: PlanRefusal | 'plan_stale',
  plan: Plan | null,
  caller: Caller,
): Promise<ToolAnswer> {
  const tool = plan?.tool ?? 'confirm'
  await caller.recordRefused({ tool, project: plan?.project?.ref ?? null, reason })
  return refusal(reason, refusals[reason], 'Nothing was done. Call the tool again for a new plan.')
}

/** The second call. The plan is used up by it, whatever comes of it. */
export async function carryOut(
  id: string,
  plans: Plans,
  caller: Caller,
  options: CallOptions,
): Promise<{ readonly plan: Plan; readonly answer: ApiAnswer } | { readonly refused: ToolAnswer }> {
  const plan = plans.take(id, caller.id)
  if (typeof plan === 'string') return { refused: await refuseConfirmation(plan, null, caller) }
  if (plan.project !== null) {
    const now = await caller.call({ operation: 'getProject', params: { id: plan.project.ref }, query: {} }, options)
    if (now.status !== 200) return { refused: problemAnswer(now.json) }
    if (now.etag !== plan.project.etag) return { refused: await refuseConfirmation('plan_stale', plan, caller) }
  }
  return { plan, answer: await caller.call(plan.request, options) }
}
