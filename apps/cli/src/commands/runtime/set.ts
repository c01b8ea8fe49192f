import { addChangeOptions, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { engineOf, offeredRuntime } from '../../offered.ts'
import {
  addSettingOptions,
  changeSettings,
  type SettingFlags,
  settingsIn,
  typedSettings,
} from '../../settings/change-settings.ts'

export const defineSet: Define = (command, context) =>
  addChangeOptions(addSettingOptions(command))
    .summary('change settings of a runtime')
    .description('Change settings of a runtime. Settings that are not named stay; it restarts when it must.')
    .argument('<project>', 'id or slug')
    .argument('<runtime>', 'see: stq runtimes')
    .addHelpText(
      'after',
      `
The settings of a runtime: stq runtime help <runtime>

  stq runtime set shop <runtime> --set enabled=true --set preset=<preset>`,
    )
    .action((project: string, runtime: string, flags: SettingFlags) => run(context(), project, runtime, flags))

async function run(context: Context, id: string, name: string, flags: SettingFlags): Promise<void> {
  if (typedSettings(flags).length === 0)
    throw usageError('Nothing is to be set.', `See what can be: stq runtime help ${name}`)
  const runtime = await offeredRuntime(context, await engineOf(context, id), name)
  const project = await changeSettings(context, id, runtime, {}, flags)
  if (project === null) return
  const settings = settingsIn(project, runtime.name)
  const off = settings?.enabled === false ? ', and off: add --set enabled=true' : ''
  noteDone(context, `${runtime.name} is set${off}`)
  if (context.json) context.result({ project: project.slug, runtime: runtime.name, settings }, () => '')
}
