import type { Define } from '../../define.ts'
import { offeredServiceOn } from '../../offered.ts'
import { showSettings } from '../../settings/show-settings.ts'

export const defineShow: Define = (command, context) =>
  command
    .summary('show the settings of a service')
    .description('Show the settings of a service in a project. What they mean: stq service help <service>')
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq service list')
    .action((project: string, name: string) =>
      showSettings(context(), project, (engine) => offeredServiceOn(context(), engine, name), 'service'),
    )
