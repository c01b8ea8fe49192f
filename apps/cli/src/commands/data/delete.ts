import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError, usageError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { size } from '../../output/size.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'
import { addPurgeOption, orTrash, type PurgeFlags, purgeQuery } from '../../purge-option.ts'

interface DeleteFlags extends ChangeFlags, PurgeFlags {
  readonly confirm?: string
}

export const defineDelete: Define = (command, context) =>
  addPurgeOption(addChangeOptions(command))
    .summary('delete kept data of a service')
    .description('Delete the kept data of a disabled service, and its credentials.')
    .argument('<project>', 'id or slug')
    .argument('[service]', 'whose data; not needed when there is kept data of one alone')
    .option('--confirm <service>', 'the service’s name, typed; asked for on a terminal')
    .action((project: string, service: string | undefined, flags: DeleteFlags) =>
      run(context(), project, service, flags),
    )

async function run(context: Context, id: string, service: string | undefined, flags: DeleteFlags): Promise<void> {
  const client = await context.client()
  const { keptData, services } = await client.call('listExtras', { params: { id } }, { signal: context.signal })
  const kind = service ?? onlyOne(keptData.map((data) => data.kind))
  // Of a service that is on the data is in use, which is for the service to say.
  if (![...keptData, ...services].some((one) => one.kind === kind))
    throw new CliError(`No data of "${kind}" is kept.`, { exitCode: exitCodes.notFound, hint: `See: stq data ${id}` })
  if (flags.dryRun !== true) refuseUnconfirmed(context.world, kind, flags.confirm)
  const data = keptData.find((one) => one.kind === kind)
  const { bold, red } = context.noteStyle.colors
  const much = data === undefined ? '' : ` (${size(data.sizeBytes)})`
  const warning = `This deletes ${red('all data')} of ${bold(kind)} in ${id}${much}${orTrash(flags.purge)}.`
  const input = { params: { id, kind }, query: purgeQuery(flags.purge) }
  const project = await changeProject(context, 'deleteKeptData', input, flags, () =>
    confirmByName(context.world, kind, flags.confirm, warning),
  )
  if (project === null) return
  noteDone(context, `The data of ${kind} is deleted`)
  if (context.json) context.result({ project: project.slug, deleted: kind }, () => '')
}

function onlyOne(kinds: readonly string[]): string {
  if (kinds.length === 1) return kinds[0]!
  if (kinds.length === 0) throw usageError('No data is kept.')
  throw usageError('Whose data?', `One of: ${kinds.join(', ')}`)
}
