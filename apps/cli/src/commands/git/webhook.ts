import type { GitWebhook } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { ago } from '../../output/time.ts'

interface WebhookFlags {
  readonly on?: boolean
  readonly off?: boolean
  readonly branch?: string
  readonly anyBranch?: boolean
  readonly reset?: boolean
  readonly rollback?: boolean
  readonly watch?: string | false
  readonly newSecret?: boolean
}

export const defineWebhook: Define = (command, context) =>
  command
    .summary('deploy what is pushed to the forge')
    .description('Show how pushes to the forge are deployed, or set it: address, branch, the last deliveries.')
    .argument('[project]', projectArgument)
    .option('--on', 'take deliveries; the secret is shown this once')
    .option('--off', 'take none; address and secret stay')
    .option('--branch <name>', 'deploy pushes to this branch')
    .option('--any-branch', 'deploy pushes to the branch that is checked out')
    .option('--reset', 'take a history that was rewritten, too')
    .option('--no-reset', 'only go forward')
    .option('--rollback', 'go back when a deploy fails')
    .option('--no-rollback', 'stay where a deploy that failed has come')
    .option('--watch <time>', 'ask the remote so often: 5m, 2h')
    .option('--no-watch', 'do not ask the remote')
    .option('--new-secret', 'make another secret; the one before is forgotten')
    .action((project: string | undefined, flags: WebhookFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: WebhookFlags): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const body = bodyOf(flags)
  const { signal } = context
  const webhook =
    Object.keys(body).length === 0
      ? await client.call('getGitWebhook', { params: { id } }, { signal })
      : await client.call('putGitWebhook', { params: { id }, body }, { signal })
  context.result(webhook, () => textOf(webhook, context))
}

function bodyOf({ on, off, branch, anyBranch, reset, rollback, watch, newSecret }: WebhookFlags) {
  if (on === true && off === true) throw usageError('--on and --off exclude each other.')
  if (branch !== undefined && anyBranch === true) throw usageError('--branch and --any-branch exclude each other.')
  return {
    ...(on === true ? { enabled: true } : {}),
    ...(off === true ? { enabled: false } : {}),
    ...(branch === undefined ? {} : { branch }),
    ...(anyBranch === true ? { branch: null } : {}),
    ...(reset === undefined ? {} : { manner: reset ? ('reset' as const) : ('fast-forward' as const) }),
    ...(rollback === undefined ? {} : { rollback }),
    ...(watch === undefined ? {} : { watch: watch === false ? null : { every: watch } }),
    ...(newSecret === true ? { newSecret } : {}),
  }
}

function textOf(webhook: GitWebhook, context: Context): string {
  const { enabled, branch, manner, rollback, watch, watched, address, secret, refused, deliveries } = webhook
  const now = context.world.now()
  return [
    `${enabled ? 'Takes' : 'Takes no'} deliveries; deploys ${branch === null ? 'the branch that is checked out' : plainText(branch)}`,
    `${manner === 'reset' ? 'takes a rewritten history' : 'only forward'}; ${rollback ? 'goes back' : 'stays'} when a deploy fails`,
    ...(watch === null ? [] : [`asks the remote every ${watch.every}${lookOf(watched, now)}`]),
    `address: ${address ?? 'none until --on'}`,
    ...(secret === undefined ? [] : [`secret:  ${secret} (shown this once)`]),
    ...(refused === null ? [] : [`refused ${ago(refused.at, now)}: ${plainText(refused.reason)}`]),
    ...deliveries.slice(0, 10).map((one) => {
      const what = `${one.forge} ${plainText(one.event)} ${plainText(one.ref ?? '')} ${one.commit?.slice(0, 10) ?? ''}`
      return `  ${one.outcome} ${ago(one.at, now)}: ${what.trim()}${one.reason === null ? '' : ` (${plainText(one.reason)})`}`
    }),
  ].join('\n')
}

function lookOf(watched: GitWebhook['watched'], now: number): string {
  if (watched === null) return ''
  return `, last ${ago(watched.at, now)}${watched.error === null ? '' : `: ${plainText(watched.error)}`}`
}
