import { ApiError } from '@stackquay/client'
import type { Plan } from '@stackquay/contract'
import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import { databaseNow } from '../../databases/database-now.ts'
import type { Define } from '../../define.ts'
import { planText } from '../../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'

interface UpgradeFlags extends ChangeFlags {
  readonly to: string
  readonly confirm?: string
}

export const defineUpgrade: Define = (command, context) =>
  addChangeOptions(command)
    .summary('change the version of a database, and its data with it')
    .description(
      'Change the version of a database, and its data with it. A backup is taken before; if anything fails, the old version and its data are back. To an earlier version: the backup from before the upgrade is put back, and what was written since is lost.',
    )
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the database')
    .requiredOption('--to <version>', 'of the database software')
    .option('--confirm <name>', 'for an earlier version: the database’s name, typed; asked for on a terminal')
    .addHelpText('after', '\nstq db upgrade shop main --to 18 --dry-run\nstq db upgrade shop main --to 18')
    .action((project: string, name: string, flags: UpgradeFlags) => run(context(), project, name, flags))

async function run(context: Context, id: string, db: string, flags: UpgradeFlags): Promise<void> {
  const { to, confirm } = flags
  const plan = await planOf(context, id, db, to)
  if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
  context.note(planText(plan, context.noteStyle.colors))
  const losesData = plan.plan.deletesData.length > 0
  if (losesData) {
    refuseUnconfirmed(context.world, db, confirm)
    const { bold, red } = context.noteStyle.colors
    const warning = `This puts ${bold(db)} of ${id} back to what it was before the upgrade: ${red('what was written since is lost')}.`
    await confirmByName(context.world, db, confirm, warning)
  }
  const body = { version: to, ...(losesData ? { removeData: true } : {}) }
  const project = await changeProject(context, 'updateDatabase', { params: { id, db }, body }, flags)
  if (project === null) return
  const now = await databaseNow(context, project, db)
  noteDone(context, now?.version === to ? `${db} is version ${to}` : `${db} is being changed to version ${to}`)
  if (context.json) context.result({ project: project.slug, name: db, ...now }, () => '')
}

/** An earlier version is only planned when it is said that data goes; saying so for a plan does nothing. */
async function planOf(context: Context, id: string, db: string, version: string): Promise<Plan> {
  const client = await context.client()
  const plan = (more: { readonly removeData?: true }) =>
    client.plan('updateDatabase', { params: { id, db }, body: { version, ...more } }, { signal: context.signal })
  try {
    return await plan({})
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const asks = error.problem.errors?.some(
      ({ pointer, code }) => pointer === `/databases/${db}/removeData` && code === 'confirm',
    )
    if (asks !== true) throw error
    return plan({ removeData: true })
  }
}
