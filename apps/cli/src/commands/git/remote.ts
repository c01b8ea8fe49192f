import type { Context, World } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { plainText } from '../../output/plain-text.ts'
import { askHidden, isInteractive, readAllInput } from '../../prompt.ts'

interface RemoteFlags {
  readonly username?: string
  readonly token?: boolean
  readonly tokenStdin?: boolean
}

export const defineRemote: Define = (command, context) =>
  command
    .summary('set where a project fetches from and pushes to')
    .description('Set where a project fetches from and pushes to, and with which token.')
    .argument('<project>', 'id or slug')
    .argument('<url>', 'https, http, ssh or git, without a password')
    .option('--username <name>', 'for the token; git when absent')
    .option('--token', 'ask for a token, without showing it')
    .option('--token-stdin', 'read the token from standard input')
    .option('--no-token', 'forget the token')
    .action((project: string, url: string, flags: RemoteFlags) => run(context(), project, url, flags))

async function run(context: Context, id: string, url: string, flags: RemoteFlags): Promise<void> {
  const token = await tokenOf(context.world, flags)
  const client = await context.client()
  const body = {
    url,
    ...(flags.username === undefined ? {} : { username: flags.username }),
    ...(token === undefined ? {} : { token }),
  }
  const state = await client.call('putGit', { params: { id }, body }, { signal: context.signal })
  const how = state.credentials?.hasToken === true ? 'with a token' : 'without a token'
  context.note(`${context.noteStyle.colors.green('✔')} ${id} fetches from ${plainText(state.url ?? '')}, ${how}`)
  if (context.json) context.result(state, () => '')
}

/** Undefined: as before; null: none. Never from the command line, where others could read it. */
async function tokenOf(world: World, { token, tokenStdin }: RemoteFlags): Promise<string | null | undefined> {
  if (token !== undefined && tokenStdin === true) throw usageError('--token-stdin stands alone.')
  if (token === false) return null
  if (token === undefined && tokenStdin !== true) return undefined
  if (tokenStdin !== true && !isInteractive(world))
    throw usageError('There is no terminal to ask for the token.', 'Send it with: --token-stdin < file')
  const text = (tokenStdin === true ? await readAllInput(world) : await askHidden(world, 'Token: ')).trim()
  if (text === '') throw usageError('The token is empty; nothing was done.')
  return text
}
