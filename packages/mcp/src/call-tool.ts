import { agentTools } from '@stackquay/contract/agent-tools'
import type { ApiAnswer, Caller, CallOptions } from './caller.ts'
import { composites, lineTexts, runAnswer } from './composites.ts'
import { jsonAnswer, problemAnswer, refusal, type ToolAnswer, textAnswer } from './output.ts'
import { type Act, carryOut, planOf, refuseConfirmation, takesPlan } from './plan-call.ts'
import type { Plan, Plans } from './plans.ts'
import { ArgumentError, type Arguments, actOf, requestOf } from './request.ts'
import { confirmTool } from './tools.ts'

export interface ToolCall {
  readonly name: string
  readonly args: Arguments
  readonly caller: Caller
  readonly signal: AbortSignal | undefined
  /** Asks the person at the client, where it can: `ask` that it be called again with the answer. Null where it cannot. */
  readonly ask: ((plan: Plan) => 'yes' | 'no' | ToolAnswer) | null
}

/** Answers one call. Whatever is wrong with it is an answer too: an assistant reads that and tries again. */
export async function callTool(call: ToolCall, plans: Plans): Promise<ToolAnswer> {
  try {
    if (call.name === confirmTool.name) return await confirm(call, plans)
    return await act(call, plans)
  } catch (error) {
    if (error instanceof ArgumentError)
      return refusal('invalid_arguments', error.message, 'Compare with the tool’s schema.')
    throw error
  }
}

async function act({ name, args, caller, signal }: ToolCall, plans: Plans): Promise<ToolAnswer> {
  const tool = agentTools.find((one) => one.name === name)
  if (tool === undefined) throw new ArgumentError(`There is no tool "${name}".`)
  const chosen = actOf(tool, args)
  const planned: Act = { tool, args, ...chosen, request: requestOf(tool, chosen.act, args) }
  const options: CallOptions = { signal }
  if (await takesPlan(planned, caller)) return planOf(planned, plans, caller, options)
  const composite = composites[tool.name]
  if (composite !== undefined) return composite(planned, caller, options)
  return answerOf(planned.request, await caller.call(limited(planned), options), caller)
}

/** Lines are long, and an assistant asks again. */
function limited({ request }: Act): Act['request'] {
  if (request.operation !== 'getProjectLogs' || request.query.limit !== undefined) return request
  return { ...request, query: { ...request.query, limit: '100' } }
}

async function confirm({ args, caller, signal, ask }: ToolCall, plans: Plans): Promise<ToolAnswer> {
  const id = args.plan
  if (typeof id !== 'string') throw new ArgumentError('confirm needs "plan", the id that another tool answered.')
  const plan = plans.look(id, caller.id)
  if (typeof plan === 'string') return refuseConfirmation(plan, null, caller)
  const said = ask === null ? 'yes' : ask(plan)
  if (typeof said === 'object') return said
  if (said === 'no') {
    plans.take(id, caller.id)
    return refusal('declined', 'The person said no.', 'Nothing was done, and the plan is gone.')
  }
  const done = await carryOut(id, plans, caller, { signal })
  if ('refused' in done) return done.refused
  if (done.plan.request.operation === 'runAction') return runAnswer(done.answer, caller, { signal })
  return answerOf(done.plan.request, done.answer, caller)
}

const asText: ReadonlySet<string> = new Set(['getRunOutput', 'readFile'])

async function answerOf(
  { operation, params, query }: Act['request'],
  answer: ApiAnswer,
  caller: Caller,
): Promise<ToolAnswer> {
  const projects = params.id === undefined ? [] : [params.id]
  if (answer.status >= 400) return problemAnswer(answer.json)
  if (operation === 'getProjectLogs') {
    const { nextCursor } = (answer.json ?? {}) as { nextCursor?: string | null }
    const lines = await caller.mask(lineTexts(answer), projects)
    return textAnswer([...lines, ...(nextCursor ? [`cursor: ${nextCursor}`] : [])].join('\n') || 'No lines.', lessLines)
  }
  if (operation === 'getManifest')
    return textAnswer(await caller.mask(String((answer.json as { manifest: unknown }).manifest), projects))
  if (asText.has(operation)) {
    if (answer.text.includes('\0'))
      return refusal('not_text', `"${query.path}" is no text.`, 'Only text files are shown here.')
    const text = await caller.mask(answer.text, projects)
    return textAnswer(
      operation === 'readFile' ? `etag: ${answer.etag}\n\n${text}` : text,
      'Read a part with exec_command.',
    )
  }
  if (answer.json === undefined) return textAnswer('Done.')
  return jsonAnswer(await caller.mask(answer.json, projects))
}

const lessLines = 'Ask with a smaller limit, a level or q, and go on with cursor.'
