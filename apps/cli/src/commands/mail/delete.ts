import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { findMail, shownIdLength } from '../../mail/find-mail.ts'
import { confirm } from '../../prompt.ts'

interface DeleteFlags {
  readonly all?: boolean
  readonly yes?: boolean
}

export const defineDelete: Define = (command, context) =>
  command
    .summary('delete mails')
    .description('Delete mails from the inbox.')
    .argument('<project>', 'id or slug')
    .argument('[mails...]', 'ids, or how they begin')
    .option('--all', 'empty the inbox')
    .option('-y, --yes', 'with --all: do not ask')
    .action((project: string, mails: string[], flags: DeleteFlags) => run(context(), project, mails, flags))

async function run(context: Context, id: string, mails: readonly string[], flags: DeleteFlags): Promise<void> {
  if (flags.all === true && mails.length > 0) throw usageError('Either mails are named, or --all is said.')
  if (flags.all !== true && mails.length === 0) throw usageError('Which mails?', `See "stq mail ${id}", or add --all.`)
  return flags.all === true ? deleteAll(context, id, flags) : deleteThese(context, id, mails)
}

async function deleteAll(context: Context, id: string, { yes }: DeleteFlags): Promise<void> {
  const client = await context.client()
  const input = { params: { id }, query: { limit: 1 } }
  const { total } = await client.call('listMail', input, { signal: context.signal })
  if (total > 0) {
    await confirm(context.world, `This deletes ${total === 1 ? 'the one mail' : `all ${total} mails`} of ${id}.`, yes)
    await client.call('deleteAllMail', { params: { id } }, { signal: context.signal })
  }
  noteDone(context, 'The inbox is empty')
  if (context.json) context.result({ deleted: 'all' }, () => '')
}

/** All are found before the first is deleted, so that a wrong id deletes nothing. */
async function deleteThese(context: Context, id: string, mails: readonly string[]): Promise<void> {
  const client = await context.client()
  const found: string[] = []
  for (const mail of mails) found.push(await findMail(context, id, mail))
  const items = [...new Set(found)]
  for (const message of items) await client.call('deleteMail', { params: { id, message } }, { signal: context.signal })
  const names = items.map((message) => message.slice(0, shownIdLength)).join(', ')
  noteDone(context, `${names} ${items.length === 1 ? 'is' : 'are'} deleted`)
  if (context.json) context.result({ deleted: items }, () => '')
}
