import { addChangeOptions, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { offeredService } from '../../offered.ts'
import {
  addExposeOptions,
  addSettingOptions,
  changeSettings,
  type SettingFlags,
  settingsIn,
} from '../../settings/change-settings.ts'

export const defineEnable: Define = (command, context) =>
  addChangeOptions(addExposeOptions(addSettingOptions(command)))
    .summary('add a service, or switch it on again')
    .description('Add a service to a project, or switch it on again: it then has its settings and its data as before.')
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq services')
    .addHelpText('after', '\nThe settings of a service: stq service help <service>')
    .action((project: string, service: string, flags: SettingFlags) => run(context(), project, service, flags))

async function run(context: Context, id: string, name: string, flags: SettingFlags): Promise<void> {
  const service = await offeredService(context, id, name)
  const project = await changeSettings(context, id, service, { enabled: true }, flags)
  if (project === null) return
  const inbox = service.hasInbox ? `. The mails it catches: stq mail ${project.slug}` : ''
  const credentials = service.hasCredentials
    ? `. How to connect: stq service credentials ${project.slug} ${service.name}`
    : ''
  noteDone(context, `${service.name} is enabled${credentials}${inbox}`)
  if (context.json)
    context.result(
      { project: project.slug, service: service.name, settings: settingsIn(project, service.name) },
      () => '',
    )
}
