import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../change-project.ts'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'

interface RenameFlags extends ChangeFlags {
  readonly redirectDays: string
}

export const define: Define = (command, context) => {
  addChangeOptions(command)
    .argument('<project>', 'id or slug')
    .argument('<slug>', 'lower-case letters, digits and hyphens')
    .option(
      '--redirect-days <number>',
      'how long the addresses of before lead to the new ones; 0 frees them at once',
      '30',
    )
    .addHelpText('after', '\nData and the folder stay where they are. Programs that were told the address start again.')
    .action((project: string, slug: string, flags: RenameFlags) => run(context(), project, slug, flags))
}

async function run(context: Context, id: string, slug: string, flags: RenameFlags): Promise<void> {
  if (!/^\d{1,3}$/.test(flags.redirectDays))
    throw usageError(`--redirect-days takes a number, and "${flags.redirectDays}" is none.`)
  const body = { slug, redirectDays: Number(flags.redirectDays) }
  const project = await changeProject(context, 'renameProject', { params: { id }, body }, flags)
  if (project === null) return
  noteDone(context, `It is called ${project.slug}`)
  context.result({ id: project.id, slug: project.slug, url: project.url }, () => project.url ?? '')
}
