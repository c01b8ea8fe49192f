import type { Define } from '../../define.ts'
import { offeredRuntime } from '../../offered.ts'
import { showSettings } from '../../settings/show-settings.ts'

export const defineShow: Define = (command, context) =>
  command
    .summary('show the settings of a runtime')
    .description('Show the settings of a runtime in a project. What they mean: stq runtime help <runtime>')
    .argument('<project>', 'id or slug')
    .argument('<runtime>', 'see: stq runtime list')
    .action((project: string, name: string) =>
      showSettings(context(), project, (engine) => offeredRuntime(context(), engine, name), 'runtime'),
    )
