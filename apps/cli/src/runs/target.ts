import type { Client } from '@stackquay/client'
import type { Context } from '../context.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { allProjects, projectHere, projectRef } from '../find-project.ts'
import { nearest } from '../nearest.ts'

/** Something of a project that can be run: an action or a suite. */
export interface Listed {
  /** `node.build`: the runtime and a name. */
  readonly id: string
  readonly label: string
}

export interface Target<Item extends Listed> {
  readonly project: string
  readonly items: readonly Item[]
  /** What is to be run; null when only the project was named. */
  readonly name: string | null
}

/**
 * What `[project] [name]` means. One word alone is something of this folder's project; where that has nothing of the name,
 * it is a project.
 */
export async function findTarget<Item extends Listed>(
  context: Context,
  client: Client,
  [first, second]: readonly [string | undefined, string | undefined],
  list: (project: string) => Promise<readonly Item[]>,
): Promise<Target<Item>> {
  if (first === undefined || second !== undefined) {
    const project = await projectRef(context, first)
    return { project, items: await list(project), name: second ?? null }
  }
  const here = await projectHere(context, client)
  if (here !== null) {
    const items = await list(here.slug)
    if (fitting(items, first).length > 0) return { project: here.slug, items, name: first }
    const projects = await allProjects(client, context.signal)
    if (!projects.some(({ id, slug }) => id === first || slug === first))
      return { project: here.slug, items, name: first }
  }
  return { project: first, items: await list(first), name: null }
}

/** By id, by label (`npm run build`), or by its name alone where no other runtime has it too. */
export function itemNamed<Item extends Listed>(
  items: readonly Item[],
  name: string,
  { what, command }: { readonly what: string; readonly command: string },
): Item {
  const found = fitting(items, name)
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw usageError(`More than one ${what} is called "${name}".`, `Say which: ${found.map(({ id }) => id).join(', ')}`)
  const near = nearest(
    name,
    items.flatMap(({ id, label }) => [shortName(id), id, label]),
  )
  const see = `What there is: ${command} --list`
  throw new CliError(`There is no ${what} "${name}".`, {
    exitCode: exitCodes.notFound,
    hint: near === null ? see : `Did you mean "${near}"? ${see}`,
  })
}

function fitting<Item extends Listed>(items: readonly Item[], name: string): readonly Item[] {
  const exact = items.filter(({ id }) => id === name)
  return exact.length > 0 ? exact : items.filter(({ id, label }) => label === name || shortName(id) === name)
}

function shortName(id: string): string {
  return id.slice(id.indexOf('.') + 1)
}
