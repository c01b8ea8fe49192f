import { randomUUID } from 'node:crypto'
import type { Client } from '@stackquay/client'
import type { Plan, ProjectSummary } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { finishOperation, finishProject, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions } from '../options.ts'
import { planText } from '../output/plan-text.ts'
import { type ProjectFile, readProjectFile, withCodeFrames } from '../project-file.ts'
import { confirmPlan, creationOf, manifestOf, projectOfFile } from '../project-of-file.ts'

interface UpFlags extends WaitFlags {
  readonly file?: string
  readonly project?: string
  readonly start?: boolean
  readonly dryRun?: boolean
  readonly prune?: boolean
  readonly yes?: boolean
}

export const define: Define = (command, context) => {
  command
    .option('-f, --file <file>', 'the project file, or its folder (default: stackquay.yml in this folder)')
    .option('-p, --project <project>', 'the project, when neither name nor folder tells it')
    .option('--no-start', 'only create or change it')
    .option('--prune', 'also remove what the file does not name; data and databases stay')
    .option('--dry-run', 'show the steps and do nothing')
    .option('-y, --yes', 'go on without asking, with --prune or when data would be deleted')
  addWaitOptions(command)
    .addHelpText(
      'after',
      '\nWhat the file does not name stays as it is, unless you pass --prune. About the file: stq help project-file',
    )
    .action((flags: UpFlags) => run(context(), flags))
}

async function run(context: Context, flags: UpFlags): Promise<void> {
  const file = await readProjectFile(context.world.cwd, flags.file)
  const client = await context.client()
  const found = await projectOfFile(context, client, file, { project: flags.project, command: 'up' })
  try {
    const plan =
      found === null ? await planCreate(context, client, file) : await planApply(context, client, file, found, flags)
    if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
    context.note(planText(plan, context.noteStyle.colors))
    await confirmPlan(context, plan, flags)
    const id =
      found === null ? await create(context, client, file, flags) : await apply(context, client, file, found, flags)
    const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
    context.result(project, () => project.url)
  } catch (error) {
    throw withCodeFrames(error, file, context.noteStyle.colors)
  }
}

function planCreate(context: Context, client: Client, file: ProjectFile): Promise<Plan> {
  return client.plan('createFromManifest', { body: creationOf(file) }, { signal: context.signal })
}

function planApply(
  context: Context,
  client: Client,
  file: ProjectFile,
  { id }: ProjectSummary,
  flags: UpFlags,
): Promise<Plan> {
  const body = manifestOf(file, flags)
  return client.call('planManifest', { params: { id }, body }, { signal: context.signal })
}

async function create(context: Context, client: Client, file: ProjectFile, flags: UpFlags): Promise<string> {
  const body = { ...creationOf(file), start: flags.start !== false }
  const project = await client.call(
    'createFromManifest',
    { body },
    { signal: context.signal, idempotencyKey: randomUUID() },
  )
  await finishProject(context, project, flags)
  return project.id
}

async function apply(
  context: Context,
  client: Client,
  file: ProjectFile,
  { id }: ProjectSummary,
  flags: UpFlags,
): Promise<string> {
  const changed = await client.call(
    'applyManifest',
    { params: { id }, body: manifestOf(file, flags) },
    { signal: context.signal },
  )
  await finishProject(context, changed, flags)
  if (flags.start === false) return id
  const { status } = await client.call('getProject', { params: { id } }, { signal: context.signal })
  // Also when it is wanted but failed: "up" means that it is to run now. Starting what runs is no work.
  if (status.state === 'running' && status.desired === 'running') return id
  const operation = await client.call(
    'startProject',
    { params: { id } },
    { signal: context.signal, idempotencyKey: randomUUID() },
  )
  if (flags.wait !== false) await finishOperation(context, operation, flags)
  return id
}
