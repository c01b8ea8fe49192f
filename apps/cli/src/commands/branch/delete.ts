import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { advise } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { finishOperation, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions, projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { confirmByName } from '../../prompt.ts'

interface DeleteFlags extends WaitFlags {
  readonly confirm?: string
}

export const defineDelete: Define = (command, context) => {
  command
    .summary('move a branch environment to the trash')
    .description('Move a branch environment to the trash, or refuse one that waits to be approved. The branch stays.')
    .argument('<branch>', 'its branch')
    .argument('[project]', projectArgument)
    .option('--confirm <branch>', 'the branch, typed; asked for on a terminal')
  addWaitOptions(command).action((branch: string, project: string | undefined, flags: DeleteFlags) =>
    run(context(), branch, project, flags),
  )
}

async function run(context: Context, branch: string, named: string | undefined, flags: DeleteFlags): Promise<void> {
  const id = await projectRef(context, named)
  const shown = plainText(branch)
  await confirmByName(context.world, branch, flags.confirm, `This moves the environment of ${shown} to the trash.`)
  const client = await context.client()
  const input = { params: { id, branch }, query: { confirm: branch } } as const
  const operation = await client
    .call('deleteBranch', input, { signal: context.signal })
    .catch(advise('not_found', `See: stq branch list ${named ?? ''}`.trim()))
  if (operation !== null && operation !== undefined && flags.wait !== false)
    await finishOperation(context, operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} The environment of ${shown} is deleted`)
  if (context.json) context.result({ branch, deleted: true }, () => '')
}
