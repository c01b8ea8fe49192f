import type { Define } from '../../define.ts'
import { changeMaintenance } from '../../network/change-maintenance.ts'
import { projectArgument } from '../../options.ts'

export const defineOff: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('show the project again')
    .description('Show the project again. What was set is kept for the next time.')
    .action((project: string | undefined) =>
      changeMaintenance(context(), project, (before) => ({ ...before, enabled: false })),
    )
