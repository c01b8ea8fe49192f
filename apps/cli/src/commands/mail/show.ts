import { Option } from 'commander'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { projectRef } from '../../find-project.ts'
import { findMail, mailArgument } from '../../mail/find-mail.ts'
import { mailSource } from '../../mail/mail-bytes.ts'
import { headersText, mailText } from '../../mail/mail-text.ts'
import { projectArgument } from '../../options.ts'
import { plainLines } from '../../output/plain-text.ts'
import { writeBytes } from '../../output/write-bytes.ts'

interface ShowFlags {
  readonly html?: boolean
  readonly headers?: boolean
  readonly source?: boolean
  readonly markRead?: boolean
}

export const defineShow: Define = (command, context) =>
  command
    .summary('show a mail')
    .description('Show a mail: who, what, its files, and its text.')
    .argument('[project]', projectArgument)
    .argument('[mail]', mailArgument)
    .addOption(new Option('--html', 'its HTML').conflicts(['headers', 'source']))
    .addOption(new Option('--headers', 'all its headers').conflicts('source'))
    .option('--source', 'byte for byte as it arrived')
    .option('--mark-read', 'mark it as read')
    .addHelpText(
      'after',
      '\nOn a terminal, what could control it is left out; a file or a pipe gets HTML and source as sent.',
    )
    .action((project: string | undefined, mail: string | undefined, flags: ShowFlags) =>
      run(context(), project, mail, flags),
    )

async function run(context: Context, named: string | undefined, wanted: string | undefined, flags: ShowFlags) {
  const id = await projectRef(context, named)
  const message = await findMail(context, id, wanted)
  if (flags.source === true && !context.json) await showSource(context, id, message)
  else await showMail(context, id, message, flags)
  if (flags.markRead !== true) return
  const client = await context.client()
  await client.call('updateMail', { params: { id, message }, body: { read: true } }, { signal: context.signal })
}

async function showMail(context: Context, id: string, message: string, flags: ShowFlags): Promise<void> {
  const client = await context.client()
  const mail = await client.call('getMail', { params: { id, message } }, { signal: context.signal })
  if (flags.html === true && mail.html === null && !context.json)
    throw new CliError('This mail has no HTML.', { exitCode: exitCodes.notFound })
  context.result(mail, () => {
    if (flags.html === true) return asSent(context, mail.html ?? '')
    return flags.headers === true ? headersText(mail, context.style) : mailText(mail, context.style)
  })
}

async function showSource(context: Context, id: string, message: string): Promise<void> {
  const source = await mailSource(context, id, message)
  if (context.world.stdout.isTTY !== true) return writeBytes(context, source)
  const chunks = await Array.fromAsync(source)
  context.world.stdout.write(`${plainLines(Buffer.concat(chunks).toString('utf8'))}\n`)
}

function asSent({ world }: Context, text: string): string {
  return world.stdout.isTTY === true ? plainLines(text) : text
}
