import { realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Client } from '@stackquay/client'
import type { ProjectSummary } from '@stackquay/contract'
import type { Context } from './context.ts'
import { usageError } from './errors.ts'
import { isLocal } from './service-url.ts'

/** The project a command is about: the one named, else the one whose folder this is, or lies in. */
export async function projectRef(context: Context, named: string | undefined): Promise<string> {
  if (named !== undefined) return named
  const found = await projectHere(context, await context.client())
  if (found === null)
    throw usageError('Which project?', 'Name it, or call this in the folder of a project. "stq list" shows them.')
  return found.slug
}

/** The project whose folder this is, or lies in; null when there is none, or the service is on another machine. */
export async function projectHere({ world, signal }: Context, client: Client): Promise<ProjectSummary | null> {
  return isLocal(client.baseUrl) ? projectOfFolder(client, world.cwd, signal) : null
}

export async function allProjects(client: Client, signal: AbortSignal): Promise<ProjectSummary[]> {
  const items: ProjectSummary[] = []
  let cursor: string | undefined
  do {
    const page = await client.call('listProjects', { query: { limit: 200, cursor } }, { signal })
    items.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return items
}

/** The nearest folder upwards wins. */
async function projectOfFolder(client: Client, folder: string, signal: AbortSignal): Promise<ProjectSummary | null> {
  const projects = await allProjects(client, signal)
  for (let here = await realFolder(folder); ; here = dirname(here)) {
    const found = projects.find(({ path }) => path === here)
    if (found !== undefined) return found
    if (here === dirname(here)) return null
  }
}

export async function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder)
}
