import type { AuditEntry } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { wholeNumber } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { stateCell } from '../../output/state.ts'
import { table } from '../../output/table.ts'
import { type AuditFlags, addAuditFilters, auditFilters } from './filters.ts'

interface ListFlags extends AuditFlags {
  readonly limit: string
}

/** As many as the service gives at once. */
const page = 200

export const defineList: Define = (command, context) =>
  addAuditFilters(command)
    .summary('list entries, newest first')
    .description('List entries of the audit log, newest first.')
    .option('-n, --limit <count>', 'how many, at most 5000', '50')
    .addHelpText('after', '\nWith --json the entries are complete: what changed, from where, and their hashes.')
    .action((flags: ListFlags) => run(context(), flags))

async function run(context: Context, flags: ListFlags): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 5000)
  const filters = auditFilters(context, flags)
  const client = await context.client()
  const items: AuditEntry[] = []
  let cursor: string | undefined
  do {
    const query = { ...filters, cursor, limit: Math.min(page, limit - items.length) }
    const answer = await client.call('listAudit', { query }, { signal: context.signal })
    items.push(...answer.items)
    cursor = answer.nextCursor ?? undefined
  } while (cursor !== undefined && items.length < limit)
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No entries.'
    const rows = items.map((entry) => row(entry, context))
    return table(['ENTRY', 'TIME', 'OUTCOME', 'WHO', 'ACTION', 'THROUGH', 'TARGET'], rows, context.style)
  })
}

const states = { success: 'succeeded', failure: 'failed', denied: 'warning' } as const

function row({ seq, time, outcome, actor, action, source, target }: AuditEntry, { style }: Context) {
  const look = stateCell(states[outcome], style.colors)
  return [
    String(seq),
    time.replace(/\.\d+/, ''),
    { ...look, text: `${look.text.split(' ')[0]} ${outcome}` },
    plainText(actor),
    action,
    source,
    plainText(target ?? '-'),
  ]
}
