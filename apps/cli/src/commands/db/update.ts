import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import { databaseNow } from '../../databases/database-now.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { addExposeOptions } from '../../settings/change-settings.ts'

interface UpdateFlags extends ChangeFlags {
  readonly version?: string
  readonly expose?: boolean
  /** False: switched off. */
  readonly pointInTime?: string | false
}

export const defineUpdate: Define = (command, context) =>
  addChangeOptions(addExposeOptions(command))
    .summary('change a database')
    .description('Change a database. What is not named stays; it is restarted when it has to be, and its data stays.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database')
    .option('--version <version>', 'of the database software; back to an earlier one: stq db upgrade')
    .option('--point-in-time <days>', 'keep its changes so long, like 7d, to restore it to a moment')
    .option('--no-point-in-time', 'keep no changes')
    .action((project: string, name: string, flags: UpdateFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, db: string, flags: UpdateFlags): Promise<void> {
  const { version, expose, pointInTime: keep } = flags
  const body = {
    ...(version === undefined ? {} : { version }),
    ...(expose === undefined ? {} : { exposePort: expose }),
    ...(typeof keep === 'string' ? { pointInTime: { keep } } : keep === false ? { pointInTime: null } : {}),
  }
  if (Object.keys(body).length === 0) throw usageError('Nothing is to be changed.', 'See: stq db update --help')
  const project = await changeProject(context, 'updateDatabase', { params: { id, db }, body }, flags)
  if (project === null) return
  noteDone(context, `${db} is changed`)
  if (!context.json) return
  const now = version === undefined ? project.databases[db] : await databaseNow(context, project, db)
  context.result({ project: project.slug, name: db, ...now }, () => '')
}
