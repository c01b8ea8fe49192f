import { addChangeOptions, type ChangeFlags, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { type OfferedService, offeredService } from '../../offered.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'
import { orTrash, type PurgeFlags } from '../../purge-option.ts'
import { changeSettings, settingsIn } from '../../settings/change-settings.ts'

interface DisableFlags extends ChangeFlags, PurgeFlags {
  readonly removeData?: boolean
  readonly confirm?: string
}

export const defineDisable: Define = (command, context) =>
  addChangeOptions(command)
    .summary('switch a service off; its data is kept')
    .description(
      'Switch a service off. Its data, version, settings and credentials are kept for when it is enabled again.',
    )
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq service list')
    .option('--remove-data', 'also delete its data and its credentials')
    .option('--purge', 'with --remove-data: at once, past the trash')
    .option('--confirm <service>', 'with --remove-data: the service’s name, typed; asked for on a terminal')
    .addHelpText('after', '\nWhat is kept: stq data <project>')
    .action((project: string, service: string, flags: DisableFlags) => run(context(), project, service, flags))

async function run(context: Context, id: string, name: string, flags: DisableFlags): Promise<void> {
  const removeData = flags.removeData === true
  if (flags.confirm !== undefined && !removeData) throw usageError('--confirm goes with --remove-data.')
  if (flags.purge === true && !removeData) throw usageError('--purge goes with --remove-data.')
  const service = await offeredService(context, id, name)
  if (removeData && flags.dryRun !== true) refuseUnconfirmed(context.world, service.name, flags.confirm)
  const { bold, red } = context.noteStyle.colors
  const warning = `This switches ${bold(service.name)} of ${id} off ${red('and deletes all its data')}${orTrash(flags.purge)}.`
  const agree = () => confirmByName(context.world, service.name, flags.confirm, warning)
  const fixed = { enabled: false, ...(removeData ? { removeData } : {}) }
  const project = await changeSettings(context, id, service, fixed, flags, removeData ? agree : undefined)
  if (project === null) return
  if (settingsIn(project, service.name) === null) {
    noteDone(context, `${service.name} was never on; nothing is different`)
  } else noteOff(context, service, removeData)
  if (context.json)
    context.result({ project: project.slug, service: service.name, enabled: false, removedData: removeData }, () => '')
}

function noteOff(context: Context, service: OfferedService, removeData: boolean): void {
  const data = removeData ? ', and its data is deleted' : service.keepsData ? ', and its data is kept' : ''
  noteDone(context, `${service.name} is off${data}`)
}
