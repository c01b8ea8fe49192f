import type { ApiAnswer, ApiRequest, Caller, CallOptions } from './caller.ts'
import { jsonAnswer, problemAnswer, type ToolAnswer, textAnswer } from './output.ts'
import type { Act } from './plan-call.ts'

/** Answers that one operation alone does not give. */
export type Composite = (act: Act, caller: Caller, options: CallOptions) => Promise<ToolAnswer>

export const composites: Readonly<Record<string, Composite>> = {
  diagnose_project: diagnose,
  read_catalogue: catalogue,
  exec_command: exec,
  run_action: async (act, caller, options) => runAnswer(await caller.call(act.request, options), caller, options),
  run_tests: async (act, caller, options) => runAnswer(await caller.call(act.request, options), caller, options),
}

interface Listed {
  readonly items?: readonly Readonly<Record<string, unknown>>[]
}

async function diagnose({ request }: Act, caller: Caller, options: CallOptions): Promise<ToolAnswer> {
  const { id = '' } = request.params
  const project = await caller.call(request, options)
  if (project.status !== 200) return problemAnswer(project.json)
  const ask = (operation: ApiRequest['operation'], params: object, query: object) =>
    caller.call({ operation, params, query } as ApiRequest, options)
  const [operations, errors, newest] = await Promise.all([
    ask('listOperations', {}, { project: id, limit: '5' }),
    ask('getProjectLogs', { id }, { level: 'error', limit: '20' }),
    ask('getProjectLogs', { id }, { limit: '30' }),
  ])
  const { slug, status, operation, waiting, generation, observedGeneration } = project.json as Record<string, unknown>
  const found = {
    project: slug,
    status,
    operation,
    waiting,
    settings: generation === observedGeneration ? 'all applied' : 'not all applied',
    operations: (operations.json as Listed).items?.map(({ id, kind, state, error, createdAt }) => ({
      id,
      kind,
      state,
      error,
      createdAt,
    })),
    errorLines: lineTexts(errors),
    newestLines: lineTexts(newest),
  }
  return jsonAnswer(
    await caller.mask(found, [String((project.json as { id: string }).id)]),
    'Read the parts one by one.',
  )
}

/** `workload time text`: a line as people read it. */
export function lineTexts({ json }: ApiAnswer): readonly string[] {
  const { items = [] } = (json ?? {}) as { items?: readonly Readonly<Record<string, unknown>>[] }
  return items.map(({ time, workload, text }) => `${String(time)} ${String(workload)} ${String(text)}`)
}

/** Without a name only what there is: the settings of all are more than anybody wants to read. */
async function catalogue({ args }: Act, caller: Caller, options: CallOptions): Promise<ToolAnswer> {
  const [runtimes, services] = await Promise.all([
    caller.call({ operation: 'listRuntimes', params: {}, query: {} }, options),
    caller.call({ operation: 'listServices', params: {}, query: {} }, options),
  ])
  const refused = [runtimes, services].find(({ status }) => status !== 200)
  if (refused !== undefined) return problemAnswer(refused.json)
  const lists = { ...(runtimes.json as object), ...(services.json as object) } as Record<string, unknown>
  const kinds = Object.entries(lists).filter(([, list]) => Array.isArray(list)) as [string, Record<string, unknown>[]][]
  if (args.name === undefined) {
    const shown = kinds.map(([kind, list]) => [kind, list.map(briefly)] as const)
    return jsonAnswer(Object.fromEntries(shown))
  }
  const found = kinds.flatMap(([kind, list]) =>
    list.filter(({ name }) => name === args.name).map((one) => ({ kind, ...one })),
  )
  if (found.length > 0) return jsonAnswer(found)
  return problemAnswer({
    code: 'not_found',
    detail: `There is no "${String(args.name)}" here.`,
    hint: `There are: ${kinds.flatMap(([, list]) => list.map(({ name }) => name)).join(', ')}.`,
  })
}

function briefly({ name, summary, available, versions, reason }: Record<string, unknown>): object {
  const usable = ((versions ?? []) as { version: string; available: boolean }[]).filter((one) => one.available)
  return {
    name,
    summary,
    ...(available === false ? { available, reason } : {}),
    ...(usable.length === 0 ? {} : { versions: usable.map(({ version }) => version).join(', ') }),
  }
}

/** A run that ended brings what a person would look at next: what failed, and its last words. */
export async function runAnswer(answer: ApiAnswer, caller: Caller, options: CallOptions): Promise<ToolAnswer> {
  if (answer.status >= 400) return problemAnswer(answer.json)
  const run = answer.json as { id: string; project: string; state: string; kind: string }
  const projects = [run.project]
  if (run.state === 'queued' || run.state === 'running')
    return jsonAnswer({ ...(await caller.mask(run, projects)), next: 'It goes on. Wait for it with read_work.' })
  const params = { id: run.project, run: run.id }
  const failures =
    run.kind === 'test'
      ? await caller.call({ operation: 'listTestCases', params, query: { outcome: 'failed', limit: '20' } }, options)
      : null
  const output = await caller.call({ operation: 'getRunOutput', params, query: {} }, options)
  const shown = {
    ...run,
    ...(failures?.status === 200 ? { failures: (failures.json as Listed).items } : {}),
    ...(output.status === 200 ? { output: output.text } : {}),
  }
  const masked = await caller.mask(shown, projects)
  // Cut when nothing is hidden any more: half a secret would not be found.
  const { output: text } = masked as { output?: unknown }
  const tail = typeof text === 'string' ? { output: text.slice(-tailCharacters) } : {}
  return jsonAnswer({ ...masked, ...tail }, 'Read the output with read_work.')
}

/** Enough for the end of a stack trace. */
const tailCharacters = 6000

async function exec({ args, request }: Act, caller: Caller, options: CallOptions): Promise<ToolAnswer> {
  const asked = Number(args.timeout ?? 30)
  const seconds = Number.isFinite(asked) ? Math.min(Math.max(asked, 1), 50) : 30
  const answer = await caller.call(request, { ...options, timeLimit: seconds * 1000 })
  if (answer.status >= 400) return problemAnswer(answer.json)
  const told = { stdout: '', stderr: '', exit: undefined as ExecPart['exit'], error: undefined as unknown }
  for (const line of answer.text.split('\n')) {
    const part = parsed(line)
    if (part === null) continue
    told.stdout += part.stdout ?? ''
    told.stderr += part.stderr ?? ''
    if (part.exit !== undefined) told.exit = part.exit
    if (part.error !== undefined) told.error = part.error
  }
  const shown = await caller.mask(told, [request.params.id!])
  const ended =
    answer.broken === 'time'
      ? `It was ended after ${seconds} seconds.`
      : answer.broken === 'size'
        ? 'It printed more than is read, and was ended.'
        : shown.error === undefined
          ? endText(shown.exit)
          : JSON.stringify(shown.error)
  const parts = [ended, ...[shown.stdout, shown.stderr && `stderr:\n${shown.stderr}`].filter((text) => text !== '')]
  return textAnswer(parts.join('\n'), 'Print less, or write it to a file.')
}

interface ExecPart {
  readonly stdout?: string
  readonly stderr?: string
  readonly exit?: { readonly code: number | null; readonly signal: string | null } | undefined
  readonly error?: unknown
}

function endText(exit: ExecPart['exit']): string {
  if (exit === undefined) return 'How it ended is not known.'
  return exit.signal === null ? `Exit code ${exit.code}.` : `Ended by ${exit.signal}.`
}

/** A line that breaks off is the end of what was read. */
function parsed(line: string): ExecPart | null {
  if (line === '') return null
  try {
    return JSON.parse(line) as ExecPart
  } catch {
    return null
  }
}
