import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { addCheckOptions, type CheckFlags, checkOf, checkText, seconds } from './check-options.ts'

type SetFlags = CheckFlags & ChangeFlags & { readonly startWithin?: string }

export const defineSet: Define = (command, context) =>
  addChangeOptions(addCheckOptions(command.argument('[project]', projectArgument)))
    .summary('check the health of a project over HTTP')
    .description('Check the health of a project over HTTP. What is not named stays. Its server is restarted.')
    .option('--interval <time>', 'how often, from 5s to 1h (default: 15s, and each second after a failure)')
    .option('--failures <count>', 'so many failed checks in a row are down, at most 20 (default: 3)')
    .option('--start-within <time>', 'how long a start may take, at most 10m (default: 60s)')
    .action((project: string | undefined, flags: SetFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: SetFlags): Promise<void> {
  const { startWithin } = flags
  const healthCheck = {
    ...checkOf(flags),
    ...(startWithin === undefined ? {} : { timeoutSeconds: seconds(startWithin, '--start-within') }),
  }
  if (Object.keys(healthCheck).length === 0)
    throw usageError('What is to change?', 'An example: stq health set shop --path /health')
  const id = await projectRef(context, named)
  const project = await changeProject(context, 'updateProject', { params: { id }, body: { healthCheck } }, flags)
  if (project === null) return
  noteDone(context, plainText(checkText(project.healthCheck)))
  context.result(project.healthCheck, () => '')
}
