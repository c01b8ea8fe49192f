import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'

export const mailArgument = 'id, or how it begins; without it the newest'

/** So many characters of an id are shown; a mail is found by as many as tell it from all others. */
export const shownIdLength = 8

/** The id of the mail that is meant. */
export async function findMail(context: Context, project: string, wanted: string | undefined): Promise<string> {
  if (wanted === undefined) return newestMail(context, project)
  const start = wanted.toLowerCase()
  if (/^[0-9a-f]{32}$/.test(start)) return start
  if (!/^[0-9a-f]{4,31}$/.test(start))
    throw usageError(
      `"${wanted}" is not an id of a mail.`,
      `At least 4 characters of it, as shown by: stq mail ${project}`,
    )
  const found = await idsThatBeginWith(context, project, start)
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw usageError(`More than one mail begins with "${start}".`, `They are: ${found.join(', ')}`)
  throw new CliError(`There is no mail "${start}".`, { exitCode: exitCodes.notFound, hint: `See: stq mail ${project}` })
}

async function newestMail(context: Context, project: string): Promise<string> {
  const client = await context.client()
  const input = { params: { id: project }, query: { limit: 1 } }
  const { items } = await client.call('listMail', input, { signal: context.signal })
  if (items[0] !== undefined) return items[0].id
  throw new CliError('There are no mails.', { exitCode: exitCodes.notFound })
}

async function idsThatBeginWith(context: Context, project: string, start: string): Promise<readonly string[]> {
  const client = await context.client()
  const found: string[] = []
  let cursor: string | undefined
  do {
    const input = { params: { id: project }, query: { limit: 200, cursor } }
    const page = await client.call('listMail', input, { signal: context.signal })
    found.push(...page.items.map(({ id }) => id).filter((id) => id.startsWith(start)))
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return found
}
