import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { planText } from '../output/plan-text.ts'
import { readProjectFile, withCodeFrames } from '../project-file.ts'
import { creationOf, manifestOf, projectOfFile } from '../project-of-file.ts'

interface PlanFlags {
  readonly project?: string
  readonly prune?: boolean
}

export const define: Define = (command, context) =>
  command
    .argument('[file]', 'the project file, or its folder (default: stackquay.yml in this folder)')
    .option('-p, --project <project>', 'the project, when neither name nor folder tells it')
    .option('--prune', 'also remove what the file does not name; data and databases stay')
    .addHelpText('after', '\nNothing is changed. "stq apply" does what is shown. About the file: stq help project-file')
    .action((file: string | undefined, flags: PlanFlags) => run(context(), file, flags))

async function run(context: Context, path: string | undefined, flags: PlanFlags): Promise<void> {
  const file = await readProjectFile(context.world.cwd, path)
  const client = await context.client()
  const found = await projectOfFile(context, client, file, { project: flags.project, command: 'plan' })
  const { signal } = context
  try {
    const plan =
      found === null
        ? await client.plan('createFromManifest', { body: creationOf(file) }, { signal })
        : await client.call('planManifest', { params: { id: found.id }, body: manifestOf(file, flags) }, { signal })
    if (found === null) context.note('This project does not exist yet; "stq up" creates it.')
    context.result(plan, () => planText(plan, context.style.colors))
  } catch (error) {
    throw withCodeFrames(error, file, context.noteStyle.colors)
  }
}
