import type { CallResult } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { shownIdLength } from '../../mail/find-mail.ts'
import { addressesText, addressText } from '../../mail/mail-text.ts'
import { projectArgument, wholeNumber } from '../../options.ts'
import { fit, plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

interface ListFlags {
  readonly limit: string
  readonly search?: string
}

type Inbox = CallResult<'listMail'>

/** As many as the service gives at once. */
const page = 200

export const defineList: Define = (command, context) =>
  command
    .summary('list mails that the project sent, newest first')
    .description('List the mails that a project sent and its mail catcher caught, newest first.')
    .argument('[project]', projectArgument)
    .option('-n, --limit <count>', 'how many, at most 5000', '50')
    .option('--search <words>', 'only mails with all these words in subject, addresses, file names or text')
    .action((project: string | undefined, flags: ListFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: ListFlags): Promise<void> {
  const limit = wholeNumber(flags.limit, '--limit', 1, 5000)
  const id = await projectRef(context, named)
  const { items, total, unread } = await mails(context, id, limit, flags.search)
  context.result({ items, total, unread }, () => {
    if (context.quiet) return items.map((mail) => mail.id).join('\n')
    if (items.length === 0) return flags.search === undefined ? 'No mails.' : 'No mail has these words.'
    const rows = items.map((mail) => row(mail, context))
    return table(['', 'MAIL', 'RECEIVED', 'FROM', 'TO', 'FILES', 'SUBJECT'], rows, context.style)
  })
  if (items.length < total) context.note(`These are the newest ${items.length} of ${total}; --limit shows more.`)
}

async function mails(context: Context, id: string, limit: number, q: string | undefined) {
  const client = await context.client()
  const items: Inbox['items'] = []
  let cursor: string | undefined
  let answer: Inbox
  do {
    const query = { limit: Math.min(page, limit - items.length), cursor, q }
    answer = await client.call('listMail', { params: { id }, query }, { signal: context.signal })
    items.push(...answer.items)
    cursor = answer.nextCursor ?? undefined
  } while (cursor !== undefined && items.length < limit)
  return { items, total: answer.total, unread: answer.unread }
}

function row(mail: Inbox['items'][number], { style, world }: Context) {
  return [
    mail.read ? '' : { text: '●', paint: style.colors.cyan },
    plainText(mail.id).slice(0, shownIdLength),
    ago(mail.receivedAt, world.now()),
    fit(mail.from === null ? '-' : addressText(mail.from), 30),
    fit(addressesText(mail.to), 30),
    mail.attachmentCount === 0 ? '' : String(mail.attachmentCount),
    plainText(mail.subject),
  ]
}
