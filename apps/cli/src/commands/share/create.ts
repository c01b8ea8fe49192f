import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@stackquay/client'
import type { Share } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { projectRef } from '../../find-project.ts'
import { readPassword } from '../../network/read-password.ts'
import { shareLink } from '../../network/share-text.ts'
import { projectArgument, wholeNumber } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { duration } from '../../output/time.ts'

interface ShareFlags {
  readonly minutes: string
  readonly password?: boolean
  readonly passwordStdin?: boolean
  readonly provider?: string
  readonly workload?: string
  readonly qr?: boolean
}

export const defineCreate: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('share a project for a while')
    .description('Show a project to others for a while, at a secret address, and print that address.')
    .option('--minutes <count>', 'how long, from 5 to 10080', '60')
    .option('--password', 'ask visitors for a password; it is asked for without showing it')
    .option('--password-stdin', 'the same, read from standard input')
    .option('--provider <name>', 'how it is reached from outside; "stq share show" lists them (default: direct)')
    .option('-w, --workload <name>', 'a workload with a page, instead of what owns the project’s URL')
    .option('--qr', 'print a QR code too, as on a terminal')
    .option('--no-qr', 'print no QR code')
    .addHelpText('after', '\nThe rules of the project hold for its share too.')
    .action((project: string | undefined, flags: ShareFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: ShareFlags): Promise<void> {
  const minutes = wholeNumber(flags.minutes, '--minutes', 5, 10_080)
  const client = await context.client()
  const id = await projectRef(context, named)
  const asks = flags.password === true || flags.passwordStdin === true
  const password = asks ? await readPassword(context.world, { fromInput: flags.passwordStdin === true }) : undefined
  const body = {
    minutes,
    ...(password === undefined ? {} : { password }),
    ...(flags.provider === undefined ? {} : { provider: flags.provider }),
    ...(flags.workload === undefined ? {} : { workload: flags.workload }),
  }
  const call = { signal: context.signal, idempotencyKey: randomUUID() }
  const made = await client.call('createShare', { params: { id }, body }, call)
  const share = made.state === 'connecting' ? await connected(context, client, id, made) : made
  const { url } = share
  if (share.state === 'failed' || url === null)
    throw new CliError(plainText(share.detail ?? `The share through ${share.provider} has no address.`), {
      exitCode: exitCodes.failed,
      hint: `Try again, or another way in: stq share show ${id}`,
    })
  const left = Date.parse(share.expiresAt) - context.world.now()
  context.note(`${id} is shared for ${duration(left)}. To end it sooner: stq share end ${id}`)
  context.result(share, () => shareLink(url, context, flags.qr))
}

/** How long a provider may take to give an address, and how often that is looked for. */
const connectMs = 60_000
const lookEveryMs = 500

async function connected(context: Context, client: Client, id: string, made: Share): Promise<Share> {
  context.note(`Connecting through ${plainText(made.provider)} …`)
  const until = context.world.now() + connectMs
  while (context.world.now() < until) {
    await sleep(lookEveryMs, undefined, { signal: context.signal })
    const { share } = await client.call('getShare', { params: { id } }, { signal: context.signal })
    if (share === null || share.id !== made.id)
      throw new CliError('The share was ended meanwhile.', { exitCode: exitCodes.failed })
    if (share.state !== 'connecting') return share
  }
  throw new CliError(`The share through ${made.provider} is still not connected.`, {
    exitCode: exitCodes.timedOut,
    hint: `It goes on trying. How it stands: stq share show ${id}`,
  })
}
