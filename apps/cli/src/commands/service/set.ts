import { addChangeOptions, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { offeredService } from '../../offered.ts'
import {
  addExposeOptions,
  addSettingOptions,
  changeSettings,
  type SettingFlags,
  settingsIn,
  typedSettings,
} from '../../settings/change-settings.ts'

export const defineSet: Define = (command, context) =>
  addChangeOptions(addExposeOptions(addSettingOptions(command)))
    .summary('change settings of a service')
    .description('Change settings of a service. Settings that are not named stay; it restarts when it must.')
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq service list')
    .addHelpText(
      'after',
      `
The settings of a service: stq service help <service>. A secret is never taken from the command line: with --set-stdin
it is asked for, or read from standard input without its last line end.`,
    )
    .action((project: string, service: string, flags: SettingFlags) => run(context(), project, service, flags))

async function run(context: Context, id: string, name: string, flags: SettingFlags): Promise<void> {
  if (typedSettings(flags).length === 0)
    throw usageError('Nothing is to be set.', `See what can be: stq service help ${name}`)
  const service = await offeredService(context, id, name)
  const project = await changeSettings(context, id, service, {}, flags)
  if (project === null) return
  const settings = settingsIn(project, service.name)
  const off = settings?.enabled === false ? `, and off: stq service enable ${project.slug} ${service.name}` : ''
  noteDone(context, `${service.name} is set${off}`)
  if (context.json) context.result({ project: project.slug, service: service.name, settings }, () => '')
}
