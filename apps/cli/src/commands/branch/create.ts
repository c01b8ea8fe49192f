import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { finishOperation, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

interface CreateFlags extends WaitFlags {
  readonly create?: boolean
  readonly databases?: string
  readonly head?: string
  readonly start?: boolean
}

export const defineCreate: Define = (command, context) => {
  command
    .summary('make an environment for a branch')
    .description('Make a project of its own for a branch, or approve a commit of a fork’s pull request.')
    .argument('<branch>', 'a branch of the project or of its remote; pull/<number> of a fork')
    .argument('[project]', projectArgument)
    .option('--create', 'make the branch, from the commit that is checked out')
    .option('--databases <clone|empty>', 'what it begins with; as the project says by default')
    .option('--head <commit>', 'approve this commit of a pull request from a fork')
    .option('--no-start', 'leave it stopped')
  addWaitOptions(command).action((branch: string, project: string | undefined, flags: CreateFlags) =>
    run(context(), branch, project, flags),
  )
}

async function run(context: Context, branch: string, named: string | undefined, flags: CreateFlags): Promise<void> {
  const { create, databases, head, start } = flags
  if (databases !== undefined && databases !== 'clone' && databases !== 'empty')
    throw usageError(`--databases is "clone" or "empty", and not "${databases}".`)
  const chosen = databases as 'clone' | 'empty' | undefined
  const client = await context.client()
  const id = await projectRef(context, named)
  const body = {
    branch,
    ...(create === true ? { create } : {}),
    ...(chosen === undefined ? {} : { databases: chosen }),
    ...(head === undefined ? {} : { head }),
    ...(start === false ? { start } : {}),
  }
  const made = await client.call('createBranch', { params: { id }, body }, { signal: context.signal })
  const { environment, operation } = made
  if (flags.wait !== false) await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} ${plainText(branch)} is at ${environment.url}`)
  if (environment.missingSecrets.length > 0)
    context.note(
      `Without the secrets ${environment.missingSecrets.map(plainText).join(', ')}: branches.secrets is none.`,
    )
  if (context.json) context.result(made, () => '')
}
