import type { ProxyRules } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { changeRules, type RulesBody } from '../../network/change-rules.ts'
import { projectArgument } from '../../options.ts'
import { agree } from '../../prompt.ts'

interface ClearFlags {
  readonly signIn?: boolean
  readonly allow?: boolean
  readonly password?: boolean
  readonly redirects?: boolean
  readonly requestHeaders?: boolean
  readonly responseHeaders?: boolean
  readonly cors?: boolean
  readonly yes?: boolean
}

/** A rule as it is when there is none, by the option that names it. */
const without = {
  signIn: { signIn: false },
  allow: { allowIps: [] },
  password: { basicAuth: null },
  redirects: { redirects: [] },
  requestHeaders: { requestHeaders: [] },
  responseHeaders: { responseHeaders: [] },
  cors: { cors: null },
} satisfies Record<Exclude<keyof ClearFlags, 'yes'>, RulesBody>

export const defineClear: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('take rules away')
    .description('Remove the named rules, or all.')
    .option('--sign-in', 'let in people who are not signed in')
    .option('--allow', 'allow all addresses again')
    .option('--password', 'ask for no password')
    .option('--redirects', 'no redirects')
    .option('--request-headers', 'leave request headers as they come')
    .option('--response-headers', 'leave response headers as they come')
    .option('--cors', 'add no CORS headers')
    .option('-y, --yes', 'do not ask')
    .action((project: string | undefined, flags: ClearFlags) => run(context(), project, flags))

async function run(context: Context, project: string | undefined, flags: ClearFlags): Promise<void> {
  const all = Object.keys(without) as (keyof typeof without)[]
  const named = all.filter((name) => flags[name] === true)
  const gone = named.length === 0 ? all : named
  if (gone.includes('signIn') || gone.includes('allow') || gone.includes('password'))
    await agree(context.world, 'This may open the project to people whom it did not let in before.', flags.yes)
  const cleared = Object.assign({}, ...gone.map((name) => without[name])) as RulesBody
  await changeRules(context, project, (rules: ProxyRules) => ({ ...rules, ...cleared }))
}
