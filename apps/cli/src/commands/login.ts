import type { Me } from '@stackquay/contract'
import { configFile, withLogin, writeConfig } from '../config.ts'
import { type Context, connect } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { ask, askHidden, isInteractive, readAllInput } from '../prompt.ts'
import { defaultUrl, isLocal, serviceUrl } from '../service-url.ts'
import { identityText } from './whoami.ts'

interface LoginFlags {
  readonly token?: string
}

export const define: Define = (command, context) =>
  command
    .option(
      '--token <token>',
      'the token; other users of this machine may see it, so rather pipe it in or set STACKQUAY_TOKEN',
    )
    .addHelpText(
      'after',
      `
Tokens are made in the web page: Settings → API tokens. The token is checked and then kept in
$XDG_CONFIG_HOME/stackquay/config.json (~/.config when unset), readable by you alone.

  stq login                                    asks for URL and token
  stq login --url https://quay.example < file  takes the token from a file`,
    )
    .action((flags: LoginFlags) => run(context(), flags))

async function run(context: Context, flags: LoginFlags): Promise<void> {
  const { world } = context
  const url = await chooseUrl(context)
  const token = await chooseToken(context, url, flags)
  const client = await connect(url, token)
  const me = await client.call('getMe', {}, { signal: context.signal })
  await writeConfig(configFile(world.env), withLogin(await context.config(), url, token))
  if (!isLocal(url) && url.startsWith('http:')) {
    context.note(
      `${context.noteStyle.colors.yellow('!')} ${url} is not encrypted: others on the way can read the token. Use https.`,
    )
  }
  context.result({ url, ...me } satisfies { url: string } & Me, () =>
    context.quiet ? '' : `Logged in at ${url} as ${identityText(me)}.`,
  )
}

/** Asked only when nothing says it: neither --url, nor STACKQUAY_URL, nor an earlier login. */
async function chooseUrl(context: Context): Promise<string> {
  const url = await context.serviceUrl()
  const known = (await context.config()).url !== null || url !== defaultUrl
  if (known || !isInteractive(context.world)) return url
  const typed = (await ask(context.world, `URL of the service [${defaultUrl}]: `)).trim()
  return typed === '' ? url : serviceUrl(typed)
}

async function chooseToken(context: Context, url: string, flags: LoginFlags): Promise<string> {
  const { world } = context
  const given = flags.token ?? (world.env.STACKQUAY_TOKEN || undefined)
  if (given === undefined && isInteractive(world))
    world.stderr.write(`Make a token at ${url} → Settings → API tokens.\n`)
  const token = (given ?? (isInteractive(world) ? await askHidden(world, 'Token: ') : await readAllInput(world))).trim()
  if (token === '')
    throw usageError('There is no token.', 'Give it at the question, on standard input, or in STACKQUAY_TOKEN.')
  if (/\s|[^\x21-\x7e]/.test(token))
    throw usageError('That is not a token: it contains spaces or line breaks.', 'Tokens start with stq_.')
  return token
}
