import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { agree } from '../../prompt.ts'

interface RotateFlags extends ChangeFlags {
  readonly yes?: boolean
}

export const defineRotate: Define = (command, context) =>
  addChangeOptions(command)
    .summary('make a new password')
    .description('Rotate the password of a database. The old one stops working; the database and what uses it restart.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database')
    .option('-y, --yes', 'do not ask, on a terminal')
    .action((project: string, name: string, flags: RotateFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, db: string, flags: RotateFlags): Promise<void> {
  const project = await changeProject(context, 'rotateDatabaseCredentials', { params: { id, db } }, flags, () =>
    agree(context.world, 'The password that is in use now stops working.', flags.yes),
  )
  if (project === null) return
  noteDone(context, `${db} has a new password: stq db credentials ${project.slug} ${db}`)
  if (context.json) context.result({ project: project.slug, name: db, rotated: true }, () => '')
}
