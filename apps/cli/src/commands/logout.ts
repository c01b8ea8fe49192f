import { configFile, withoutLogin, writeConfig } from '../config.ts'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'

export const define: Define = (command, context) =>
  command
    .addHelpText('after', '\nThe token itself stays valid. Revoke it in the web page: Settings → API tokens.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const url = await context.serviceUrl()
  const config = await context.config()
  const known = config.tokens[url] !== undefined
  if (known) await writeConfig(configFile(context.world.env), withoutLogin(config, url))
  context.result({ url, loggedOut: known }, () =>
    context.quiet ? '' : known ? `Logged out of ${url}.` : `You were not logged in at ${url}.`,
  )
  if (context.world.env.STACKQUAY_TOKEN) context.note('STACKQUAY_TOKEN is set and still used.')
}
