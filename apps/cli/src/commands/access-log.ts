import type { AccessEntry } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { projectRef } from '../find-project.ts'
import { projectArgument, wholeNumber } from '../options.ts'
import { plainText } from '../output/plain-text.ts'
import { size } from '../output/size.ts'
import { table } from '../output/table.ts'
import { parseMoment } from '../output/time.ts'

interface AccessLogFlags {
  readonly limit: string
  readonly status?: string
  readonly grep?: string
  readonly since?: string
  readonly until?: string
}

/** As many as the service gives at once. */
const page = 200

export const define: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .option('-n, --limit <count>', 'how many, at most 5000', '50')
    .option('--status <status>', 'only answers of this status: 404, 5xx')
    .option('--grep <text>', 'only where host, path, client or user agent contains this')
    .option('--since <when>', 'only requests after this: 10m, 2h, 2026-11-20T08:00:00Z')
    .option('--until <when>', 'only requests before this')
    .action((project: string | undefined, flags: AccessLogFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: AccessLogFlags): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 5000)
  const filters = filtersOf(context, flags)
  const client = await context.client()
  const id = await projectRef(context, named)
  const items: AccessEntry[] = []
  let cursor: string | undefined
  do {
    const query = { ...filters, cursor, limit: Math.min(page, limit - items.length) }
    const answer = await client.call('listAccessLog', { params: { id }, query }, { signal: context.signal })
    items.push(...answer.items)
    cursor = answer.nextCursor ?? undefined
  } while (cursor !== undefined && items.length < limit)
  context.result({ items }, () => {
    if (items.length === 0) return context.quiet ? '' : 'No requests.'
    const rows = items.map((entry) => row(entry, context))
    return table(['TIME', 'STATUS', 'TOOK', 'SENT', 'CLIENT', 'BY', 'REQUEST'], rows, context.style)
  })
}

function filtersOf({ world }: Context, { status, grep, since, until }: AccessLogFlags) {
  if (status !== undefined && !/^[1-5](xx|\d\d)$/.test(status))
    throw usageError(`"${status}" is no status.`, 'Examples: 404, 5xx')
  const moment = (text: string | undefined) => {
    const found = text === undefined ? undefined : parseMoment(text, world.now())
    if (found === null) throw usageError(`"${text}" is not a time.`, 'Examples: 10m, 2h, 2026-11-20T08:00:00Z')
    return found
  }
  return { status, q: grep, since: moment(since), until: moment(until) }
}

function row(entry: AccessEntry, { style }: Context) {
  const { red, yellow, green } = style.colors
  const { status } = entry
  return [
    entry.time.replace(/\.\d+/, ''),
    { text: String(status), paint: status >= 500 ? red : status >= 400 ? yellow : green },
    `${Math.round(entry.seconds * 1000)} ms`,
    size(entry.bytes),
    plainText(entry.client),
    // What answered in the application’s place, and whether it came over the share.
    [entry.by, entry.via === 'share' ? 'share' : null].filter((part) => part !== null).join(', ') || '-',
    plainText(`${entry.method} ${entry.host}${entry.path}`),
  ]
}
