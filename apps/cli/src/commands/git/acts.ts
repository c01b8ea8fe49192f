import { randomUUID } from 'node:crypto'
import type { GitPullManner } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { finishOperation, takenOn, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { planText } from '../../output/plan-text.ts'
import { confirm } from '../../prompt.ts'

type Act = 'fetchGit' | 'pullGit' | 'checkoutGit' | 'commitGit' | 'pushGit' | 'discardGit'

export const defineFetch: Define = (command, context) => {
  command
    .summary('fetch from the remote')
    .description('Fetch branches of origin and new tags. No file of the project changes.')
    .argument('[project]', projectArgument)
  addWaitOptions(command).action((project: string | undefined, flags: WaitFlags) =>
    run(context(), project, 'fetchGit', undefined, flags),
  )
}

interface PullFlags extends WaitFlags {
  readonly dryRun?: boolean
  readonly merge?: boolean
  readonly reset?: boolean
}

export const definePull: Define = (command, context) => {
  command
    .summary('fetch, and bring the branch to what the remote has')
    .description('Fetch, and bring the branch to what the remote has: only forward, unless told.')
    .argument('[project]', projectArgument)
    .option('--merge', 'merge where both sides have commits; conflicts are told, and nothing is changed')
    .option('--reset', 'take the remote; what is here is kept as a branch kept/…')
    .option('--dry-run', 'show what it would bring and restart, as of the last fetch, and do nothing')
  addWaitOptions(command).action((project: string | undefined, flags: PullFlags) =>
    flags.dryRun === true
      ? plan(context(), project)
      : run(context(), project, 'pullGit', { manner: mannerOf(flags) }, flags),
  )
}

async function plan(context: Context, named: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const planned = await client.plan('pullGit', { params: { id } }, { signal: context.signal })
  context.result(planned, () => planText(planned, context.style.colors))
}

function mannerOf({ merge, reset }: PullFlags): GitPullManner {
  if (merge === true && reset === true) throw usageError('--merge and --reset exclude each other.')
  if (merge === true) return 'merge'
  return reset === true ? 'reset' : 'fast-forward'
}

export const defineCheckout: Define = (command, context) => {
  command
    .summary('check a branch out')
    .description('Check a branch out; one that only origin has is made from it.')
    .argument('<project>', 'id or slug')
    .argument('<branch>', 'name of the branch')
    .option('--create', 'make the branch, from where the head is')
  addWaitOptions(command).action((project: string, branch: string, flags: WaitFlags & { readonly create?: boolean }) =>
    run(context(), project, 'checkoutGit', { branch, ...(flags.create === true ? { create: true } : {}) }, flags),
  )
}

interface CommitFlags extends WaitFlags {
  readonly message: string
  readonly author?: string
}

export const defineCommit: Define = (command, context) => {
  command
    .summary('commit files')
    .description('Commit files: those that are named, or everything that differs.')
    .argument('<project>', 'id or slug')
    .argument('[paths...]', 'files and folders of the project')
    .requiredOption('-m, --message <text>', 'what the commit says')
    .option('--author <author>', '"Name <address>", instead of whose token it is')
  addWaitOptions(command).action((project: string, paths: string[], flags: CommitFlags) => {
    const { message, author } = flags
    const body = {
      message,
      ...(paths.length === 0 ? {} : { paths }),
      ...(author === undefined ? {} : { author: authorOf(author) }),
    }
    return run(context(), project, 'commitGit', body, flags)
  })
}

function authorOf(text: string): { name: string; email: string } {
  const [, name, email] = /^([^<>]+?) *<([^<>\s]+)>$/.exec(text) ?? []
  if (name === undefined || email === undefined) throw usageError('--author takes "Name <address>".')
  return { name, email }
}

export const definePush: Define = (command, context) => {
  command
    .summary('push a branch to the remote')
    .description('Push the branch that is checked out, or another, to the remote.')
    .argument('[project]', projectArgument)
    .option('--branch <name>', 'this branch')
    .option('--force', 'replace what is there; only while it is what the last fetch showed')
  addWaitOptions(command).action(
    (project: string | undefined, flags: WaitFlags & { readonly branch?: string; readonly force?: boolean }) => {
      const body = {
        ...(flags.branch === undefined ? {} : { branch: flags.branch }),
        ...(flags.force === true ? { force: true } : {}),
      }
      return run(context(), project, 'pushGit', body, flags)
    },
  )
}

export const defineDiscard: Define = (command, context) => {
  command
    .summary('put files back to the last commit')
    .description('Put files back to the last commit. What is discarded is kept as a commit that no branch has.')
    .argument('<project>', 'id or slug')
    .argument('<paths...>', 'files and folders of the project; "." is no path, name them')
    .option('-y, --yes', 'do not ask')
  addWaitOptions(command).action(
    async (project: string, paths: string[], flags: WaitFlags & { readonly yes?: boolean }) => {
      const here = context()
      const shown = paths.map(plainText).join(', ')
      await confirm(here.world, `This puts ${shown} of ${project} back to the last commit.`, flags.yes)
      return run(here, project, 'discardGit', { paths }, flags)
    },
  )
}

async function run(
  context: Context,
  named: string | undefined,
  act: Act,
  body: object | undefined,
  flags: WaitFlags,
): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const input = { params: { id }, ...(body === undefined ? {} : { body }) }
  const operation = await client.call(act, input as never, { signal: context.signal, idempotencyKey: randomUUID() })
  if (flags.wait === false) return takenOn(context, operation)
  const last = await finishOperation(context, operation, flags)
  const said = last.steps.flatMap((step) => step.output).at(-1)
  context.note(`${context.noteStyle.colors.green('✔')} ${plainText(said ?? 'done')}`)
  if (context.json) context.result(last, () => '')
}
