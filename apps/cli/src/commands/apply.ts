import { addChangeOptions, type ChangeFlags, changeProject, noteDone } from '../change-project.ts'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { readProjectFile, withCodeFrames } from '../project-file.ts'
import { confirmPlan, manifestOf, projectOfFile } from '../project-of-file.ts'

interface ApplyFlags extends ChangeFlags {
  readonly project?: string
  readonly prune?: boolean
  readonly yes?: boolean
}

export const define: Define = (command, context) => {
  addChangeOptions(
    command
      .argument('[file]', 'the project file, or its folder (default: stackquay.yml in this folder)')
      .option('-p, --project <project>', 'the project, when neither name nor folder tells it')
      .option('--prune', 'also remove what the file does not name; data and databases stay')
      .option('-y, --yes', 'go on without asking, with --prune or when data would be deleted'),
  )
    .addHelpText(
      'after',
      '\nA project that is stopped stays stopped, and one that does not exist is not created: "stq up" does both.',
    )
    .action((file: string | undefined, flags: ApplyFlags) => run(context(), file, flags))
}

async function run(context: Context, path: string | undefined, flags: ApplyFlags): Promise<void> {
  const file = await readProjectFile(context.world.cwd, path)
  const client = await context.client()
  const found = await projectOfFile(context, client, file, { project: flags.project, command: 'apply' })
  if (found === null)
    throw new CliError(`There is no project of ${file.shownAs}.`, {
      exitCode: exitCodes.notFound,
      hint: 'Create it with "stq up", or name the project: stq apply --project <project>',
    })
  try {
    const input = { params: { id: found.id }, body: manifestOf(file, flags) }
    const project = await changeProject(context, 'applyManifest', input, flags, (plan) =>
      confirmPlan(context, plan, flags),
    )
    if (project === null) return
    noteDone(context, `${project.slug} is as ${file.shownAs} says`)
    if (context.json) context.result(project, () => '')
  } catch (error) {
    throw withCodeFrames(error, file, context.noteStyle.colors)
  }
}
