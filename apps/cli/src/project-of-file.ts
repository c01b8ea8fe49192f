import type { Client } from '@stackquay/client'
import type { Plan, ProjectSummary } from '@stackquay/contract'
import type { Context } from './context.ts'
import { CliError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { allProjects } from './find-project.ts'
import { type ProjectFile, slugOf } from './project-file.ts'
import { confirm } from './prompt.ts'
import { isLocal } from './service-url.ts'

/** The project that has the file's name; else the one that has its folder, which then gets the new name. */
export async function projectOfFile(
  context: Context,
  client: Client,
  file: ProjectFile,
  { project, command }: { readonly project: string | undefined; readonly command: string },
): Promise<ProjectSummary | null> {
  if (project !== undefined) {
    return (await client.call('getProject', { params: { id: project } }, { signal: context.signal })) as ProjectSummary
  }
  const projects = await allProjects(client, context.signal)
  const named =
    projects.find(({ slug }) => slug === slugOf(file.name)) ?? projects.find(({ name }) => name === file.name)
  const here = projects.filter(({ path }) => path === file.folder)
  if (named === undefined) return here.length === 1 ? here[0]! : null
  if (named.path === file.folder || !isLocal(client.baseUrl)) return named
  throw new CliError(`The project "${named.slug}" has another folder: ${named.path}.`, {
    exitCode: exitCodes.conflict,
    hint: `Give this one another name in ${file.shownAs}, or say that you mean that project: stq ${command} --project ${named.slug}`,
  })
}

/** What `createFromManifest` takes. */
export function creationOf({ text, folder, name }: ProjectFile) {
  return { manifest: text, path: folder, name }
}

/** What `planManifest` and `applyManifest` take. */
export function manifestOf({ text }: ProjectFile, { prune }: { readonly prune?: boolean }) {
  return { manifest: text, ...(prune === true ? { prune } : {}) }
}

/** What is lost needs a word of its own, and so does taking away what the file merely does not name. */
export async function confirmPlan(
  { world }: Context,
  { plan }: Plan,
  { prune, yes }: { readonly prune?: boolean; readonly yes?: boolean },
): Promise<void> {
  if (plan.deletesData.length > 0) return confirm(world, `This deletes data: ${plan.deletesData.join(', ')}.`, yes)
  if (prune === true && plan.steps.length + plan.changes.length > 0)
    await confirm(world, 'This removes what the file does not name.', yes)
}
