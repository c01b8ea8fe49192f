import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { serviceWithCredentials } from '../../offered.ts'
import { agree } from '../../prompt.ts'

interface RotateFlags extends ChangeFlags {
  readonly yes?: boolean
}

export const defineRotate: Define = (command, context) =>
  addChangeOptions(command)
    .summary('make new secrets for a service')
    .description('Rotate the secrets of a service. The old ones stop working; the service and what uses it restart.')
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq service list')
    .option('-y, --yes', 'do not ask, on a terminal')
    .action((project: string, service: string, flags: RotateFlags) => run(context(), project, service, flags))

async function run(context: Context, id: string, name: string, flags: RotateFlags): Promise<void> {
  const { name: service, under } = await serviceWithCredentials(context, id, name)
  const ask = () => agree(context.world, 'The credentials that are in use now stop working.', flags.yes)
  const project =
    under === undefined
      ? await changeProject(context, 'rotateServiceCredentials', { params: { id, service } }, flags, ask)
      : await changeProject(context, 'rotateAddonCredentials', { params: { id, name: service } }, flags, ask)
  if (project === null) return
  noteDone(context, `${service} has new secrets: stq service credentials ${project.slug} ${service}`)
  if (context.json) context.result({ project: project.slug, service, rotated: true }, () => '')
}
