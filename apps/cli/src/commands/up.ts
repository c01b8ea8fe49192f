import { randomUUID } from 'node:crypto'
import type { Client } from '@stackquay/client'
import type { Plan, ProjectSummary } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { allProjects } from '../find-project.ts'
import { finishOperation, finishProject, type WaitFlags } from '../finish-operation.ts'
import { addWaitOptions } from '../options.ts'
import { planText } from '../output/plan-text.ts'
import { type ProjectFile, readProjectFile, slugOf, withCodeFrames } from '../project-file.ts'
import { ask, isInteractive } from '../prompt.ts'
import { isLocal } from '../service-url.ts'
import type { Define } from './index.ts'

interface UpFlags extends WaitFlags {
  readonly file?: string
  readonly project?: string
  readonly start?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export const define: Define = (command, context) => {
  command
    .option('-f, --file <file>', 'the project file, or its folder (default: stackquay.yml in this folder)')
    .option('-p, --project <project>', 'the project it is about, when name and folder do not say')
    .option('--no-start', 'only create or change it')
    .option('--dry-run', 'show the steps and do nothing')
    .option('-y, --yes', 'go on without asking when data would be deleted')
  addWaitOptions(command)
    .addHelpText('after', '\nWhat the file does not name stays as it is. About the file: stq help project-file')
    .action((flags: UpFlags) => run(context(), flags))
}

async function run(context: Context, flags: UpFlags): Promise<void> {
  const file = await readProjectFile(context.world.cwd, flags.file)
  const client = await context.client()
  const found = await projectOf(context, client, file, flags)
  try {
    const plan =
      found === null ? await planCreate(context, client, file) : await planApply(context, client, file, found)
    if (flags.dryRun === true) return context.result(plan, () => planText(plan, context.style.colors))
    context.note(planText(plan, context.noteStyle.colors))
    await confirmLoss(context, plan, flags)
    const id =
      found === null ? await create(context, client, file, flags) : await apply(context, client, file, found, flags)
    const project = await client.call('getProject', { params: { id } }, { signal: context.signal })
    context.result(project, () => project.url)
  } catch (error) {
    throw withCodeFrames(error, file, context.noteStyle.colors)
  }
}

/** The project that has the file's name; else the one that has its folder, which then gets the new name. */
async function projectOf(
  context: Context,
  client: Client,
  file: ProjectFile,
  flags: UpFlags,
): Promise<ProjectSummary | null> {
  if (flags.project !== undefined) {
    return (await client.call(
      'getProject',
      { params: { id: flags.project } },
      { signal: context.signal },
    )) as ProjectSummary
  }
  const projects = await allProjects(client, context.signal)
  const named =
    projects.find(({ slug }) => slug === slugOf(file.name)) ?? projects.find(({ name }) => name === file.name)
  const here = projects.filter(({ path }) => path === file.folder)
  if (named === undefined) return here.length === 1 ? here[0]! : null
  if (named.path === file.folder || !isLocal(client.baseUrl)) return named
  throw new CliError(`The project "${named.slug}" has another folder: ${named.path}.`, {
    exitCode: exitCodes.conflict,
    hint: `Give this one another name in ${file.shownAs}, or say that you mean that project: stq up --project ${named.slug}`,
  })
}

function planCreate(context: Context, client: Client, file: ProjectFile): Promise<Plan> {
  return client.plan('createFromManifest', { body: creation(file) }, { signal: context.signal })
}

function planApply(context: Context, client: Client, file: ProjectFile, { id }: ProjectSummary): Promise<Plan> {
  return client.call('planManifest', { params: { id }, body: { manifest: file.text } }, { signal: context.signal })
}

async function create(context: Context, client: Client, file: ProjectFile, flags: UpFlags): Promise<string> {
  const body = { ...creation(file), start: flags.start !== false }
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
    { params: { id }, body: { manifest: file.text } },
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

function creation({ text, folder, name }: ProjectFile) {
  return { manifest: text, path: folder, name }
}

async function confirmLoss({ world, noteStyle }: Context, { plan }: Plan, flags: UpFlags): Promise<void> {
  if (plan.deletesData.length === 0 || flags.yes === true) return
  if (!isInteractive(world))
    throw usageError(`This deletes data: ${plan.deletesData.join(', ')}.`, 'Add --yes when that is meant.')
  const answer = await ask(world, `${noteStyle.colors.red('This deletes data.')} Go on? [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError('Nothing was done.')
}
