import { randomUUID } from 'node:crypto'
import type { OperationRecord } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { planText } from '../../output/plan-text.ts'
import { parseMoment } from '../../output/time.ts'

interface RestoreToFlags extends WaitFlags {
  readonly as: string
  readonly dryRun?: boolean
}

export const defineRestoreTo: Define = (command, context) => {
  command
    .summary('add a database as another one was at a moment')
    .description('Add a database as another one was at a moment. The other one stays as it is.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database whose past it is')
    .argument('<time>', 'with its zone, like 2026-11-26T10:00:00Z, or how long ago: 10m, 2h')
    .requiredOption('--as <name>', 'of the new database')
    .option('--dry-run', 'show what is done, and do nothing')
  addWaitOptions(command).action((project: string, name: string, time: string, flags: RestoreToFlags) =>
    run(context(), { project, db: name, time }, flags),
  )
}

async function run(
  context: Context,
  { project: id, db, time }: { readonly project: string; readonly db: string; readonly time: string },
  flags: RestoreToFlags,
): Promise<void> {
  const to = momentOf(time, context.world.now())
  const client = await context.client()
  const { signal } = context
  const input = { params: { id, db }, body: { to, name: flags.as } }
  if (flags.dryRun === true) {
    const plan = await client.plan('restoreDatabaseTo', input, { signal })
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  // Without `wait` the answer is the operation.
  const operation = (await client.call('restoreDatabaseTo', input, {
    signal,
    idempotencyKey: randomUUID(),
  })) as OperationRecord
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  const { databases } = await client.call('getProject', { params: { id } }, { signal })
  const at = databases[flags.as]?.recovered?.lastTransactionAt ?? null
  const until = at === null ? 'no transaction since its base is in it' : `its last transaction is of ${at}`
  context.note(`${context.noteStyle.colors.green('✔')} ${flags.as} is ${db} at ${to}: ${until}`)
  if (context.json) context.result({ ...last, lastTransactionAt: at }, () => '')
}

/** As it was written where it names its zone: fractions of a second count. */
function momentOf(text: string, now: number): string {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)) return text
  const ago = /^\d+[a-z]+$/.test(text) ? parseMoment(text, now) : null
  if (ago !== null) return ago
  throw usageError(
    `"${text}" is no time with its zone.`,
    'Write it like 2026-11-26T10:00:00Z, or how long ago: 10m, 2h.',
  )
}
