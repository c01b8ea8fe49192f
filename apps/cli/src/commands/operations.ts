import type { OperationRecord } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { allProjects } from '../find-project.ts'
import { finishOperation } from '../finish-operation.ts'
import { wholeNumber } from '../options.ts'
import { plainText } from '../output/plain-text.ts'
import { stateCell } from '../output/state.ts'
import { table } from '../output/table.ts'
import { ago, duration } from '../output/time.ts'

interface ListFlags {
  readonly project?: string
  readonly active?: boolean
  readonly limit: string
}

export const define: Define = (command, context) => {
  command
    .command('list', { isDefault: true })
    .summary('list operations, newest first')
    .description('List operations, newest first.')
    .option('--project <project>', 'only of this project')
    .option('--active', 'only those that wait or run')
    .option('--limit <count>', 'how many, at most 200', '20')
    .action((flags: ListFlags) => list(context(), flags))

  command
    .command('wait')
    .summary('watch an operation until it ends')
    .description('Watch an operation until it ends; the exit code tells how.')
    .argument('<operation>', 'op_…')
    .option('--timeout <duration>', 'how long to wait (default: 30m)')
    .action(async (id: string, flags: { timeout?: string }) => {
      const last = await finishOperation(context(), { id }, flags)
      context().result(last, () => '')
    })

  command
    .command('cancel')
    .summary('cancel an operation')
    .description('Cancel an operation. It ends what it started; nothing is deleted.')
    .argument('<operation>', 'op_…')
    .action((id: string) => cancel(context(), id))
}

async function list(context: Context, flags: ListFlags): Promise<void> {
  const client = await context.client()
  const limit = wholeNumber(flags.limit, '--limit', 1, 200)
  const query = { limit, project: flags.project, ...(flags.active === true ? { active: 'true' as const } : {}) }
  const { items } = await client.call('listOperations', { query }, { signal: context.signal })
  if (context.json) return context.result({ items }, () => '')
  const names = items.length === 0 ? new Map<string, string>() : await projectNames(context)
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return flags.active === true ? 'Nothing is under way.' : 'No operations yet.'
    const rows = items.map((operation) => row(operation, names, context))
    return table(['OPERATION', 'KIND', 'PROJECT', 'STATE', 'BEGUN', 'TOOK', 'BY'], rows, context.style)
  })
}

function row(operation: OperationRecord, names: ReadonlyMap<string, string>, { style, world }: Context) {
  const { id, kind, project, state, startedAt, finishedAt, createdAt, actor, progress } = operation
  const end = finishedAt === null ? world.now() : Date.parse(finishedAt)
  const took = startedAt === null ? '-' : duration(end - Date.parse(startedAt))
  const cell = stateCell(state === 'running' ? 'starting' : state, style.colors)
  const shown = state === 'running' ? { ...cell, text: `◐ running ${Math.round(progress * 100)} %` } : cell
  return [
    id,
    kind,
    project === null ? '-' : (names.get(project) ?? plainText(project)),
    shown,
    ago(startedAt ?? createdAt, world.now()),
    took,
    plainText(actor),
  ]
}

async function projectNames(context: Context): Promise<Map<string, string>> {
  const projects = await allProjects(await context.client(), context.signal)
  return new Map(projects.map(({ id, slug }) => [id, slug]))
}

async function cancel(context: Context, op: string): Promise<void> {
  const client = await context.client()
  const operation = await client.call(
    'cancelOperation',
    { params: { op }, query: { wait: 30 } },
    { signal: context.signal },
  )
  context.note(operation.state === 'cancelled' ? `${op} is cancelled.` : `${op} is ${operation.state}.`)
  context.result(operation, () => '')
}
