import type { ProxyRules } from '@stackquay/contract'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { changeMaintenance } from '../../network/change-maintenance.ts'
import { eachOf, projectArgument } from '../../options.ts'
import { parseDuration } from '../../output/time.ts'

interface OnFlags {
  readonly retryAfter?: string
  readonly allow?: readonly string[]
  readonly message?: string
  readonly page: boolean
}

export const defineOn: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('answer 503 in the place of a project')
    .description(
      'Answer 503 in the place of a project, with its maintenance.html or a page of ours. What is not named is as it was the last time.',
    )
    .option('--retry-after <time>', 'when to come back, in Retry-After, such as 10m')
    .option('--allow <addresses>', 'who sees the project as it is: 203.0.113.7, 10.0.0.0/8', eachOf)
    .option('--message <text>', 'shown on our page')
    .option('--no-page', 'our page, even where the project has a maintenance.html')
    .addHelpText(
      'after',
      `
The file is read when maintenance is switched on; switch it on again after a change of the file.

  stq maintenance on shop --retry-after 10m --allow 10.0.0.0/8
  stq maintenance off shop`,
    )
    .action(async (project: string | undefined, flags: OnFlags) => {
      const change = changeOf(flags)
      await changeMaintenance(context(), project, (before) => ({ ...before, ...change, enabled: true }))
    })

function changeOf({ retryAfter, allow, message, page }: OnFlags): Partial<NonNullable<ProxyRules['maintenance']>> {
  const milliseconds = retryAfter === undefined ? undefined : parseDuration(retryAfter)
  if (milliseconds === null || (milliseconds !== undefined && milliseconds < 1000))
    throw usageError(`"${retryAfter}" is no time of a second or more.`, 'Examples: 90, 10m, 2h')
  return {
    ...(milliseconds === undefined ? {} : { retryAfterSeconds: Math.round(milliseconds / 1000) }),
    ...(allow === undefined ? {} : { allowIps: [...allow] }),
    ...(message === undefined ? {} : { message }),
    page,
  }
}
