import type { FoundLine } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import { jsonText } from '../../output/json.ts'
import { logText, plainText } from '../../output/plain-text.ts'
import { writeAll } from '../../output/write-all.ts'

export interface SearchQuery {
  readonly q: string
  readonly projects?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly regex?: 'true' | undefined
  readonly level?: 'error' | 'warning' | 'info' | 'debug' | undefined
}

/** As many as the service gives at once. */
const mostAtOnce = 200

/** The newest lines that fit in all projects that the caller may read, newest first. */
export async function searchLogs(context: Context, query: SearchQuery, most: number): Promise<void> {
  let left = most
  let cursor: string | undefined
  const client = await context.client()
  while (left > 0) {
    const limit = Math.min(left, mostAtOnce)
    const page = await client.call('searchLogs', { query: { ...query, limit, cursor } }, { signal: context.signal })
    await print(context, page.items)
    left -= page.items.length
    if (page.partial) context.note('Time ran out, so lines may be missing. Narrow it with --since, or name a project.')
    if (page.nextCursor === null || page.partial) return
    cursor = page.nextCursor
  }
}

function print(context: Context, lines: readonly FoundLine[]): void | Promise<void> {
  if (lines.length === 0) return undefined
  const { colors } = context.style
  const texts = lines.map((line) => {
    if (context.json) return jsonText(line)
    const from = `${colors.cyan(plainText(line.project))} ${colors.magenta(plainText(line.workload))}`
    return `${colors.dim(line.time)} ${from} ${colors.dim('|')} ${logText(line.text, colors.isColorSupported)}`
  })
  return writeAll(context.world.stdout, `${texts.join('\n')}\n`)
}
