import { fail, fields, list, text } from './route-fields.ts'
import { parseRoute, type Route, type RouteTable, refuseSharedHosts } from './route-table.ts'

/**
 * How a table differs from the one before it, project by project. With a thousand projects the whole table is half a megabyte, and
 * mostly one of them changed.
 */
export interface RouteChanges {
  readonly version: 1
  /** Of the table that comes of it. */
  readonly generation: number
  /** Of the table that it changes. A proxy that has another one refuses it and must be given all routes. */
  readonly since: number
  readonly projects: readonly ProjectRoutes[]
}

/** All routes of one project; none when it has none any more. */
export interface ProjectRoutes {
  readonly project: string
  readonly routes: readonly Route[]
}

/** The table in use is not the base of these changes. */
export class StaleRoutesError extends Error {
  override readonly name = 'StaleRoutesError'
}

/** Checks everything but what only the whole table shows; throws RouteTableError at the first mistake. */
export function parseRouteChanges(input: unknown): RouteChanges {
  const changes = fields(input, 'changes', ['version', 'generation', 'since', 'projects'])
  if (changes.version !== 1) fail('changes.version', `must be 1, not ${JSON.stringify(changes.version)}`)
  const [generation, since] = [changes.generation, changes.since] as [number, number]
  if (!Number.isSafeInteger(since) || since < 0) fail('changes.since', 'must be a whole number, 0 or more')
  if (!Number.isSafeInteger(generation) || generation <= since)
    fail('changes.generation', 'must be a whole number above "since"')
  const projects = list(changes.projects, 'projects').map((one, index) => parseProjectRoutes(one, `projects[${index}]`))
  if (new Set(projects.map(({ project }) => project)).size < projects.length)
    fail('projects', 'must name each project once')
  return { version: 1, generation, since, projects }
}

function parseProjectRoutes(input: unknown, at: string): ProjectRoutes {
  const { project: id, routes: given } = fields(input, at, ['project', 'routes'])
  const project = text(id, `${at}.project`)
  const routes = list(given, `${at}.routes`).map((route, index) => parseRoute(route, `${at}.routes[${index}]`))
  const foreign = routes.findIndex((route) => route.project.id !== project)
  if (foreign >= 0) fail(`${at}.routes[${foreign}].project.id`, `must be ${project}`)
  return { project, routes }
}

/**
 * The table with these changes. Routes of other projects are the same objects, so that what was made of them can stay. Throws
 * StaleRoutesError, and RouteTableError when a name would belong to two routes.
 */
export function withChanges(table: RouteTable, { generation, since, projects }: RouteChanges): RouteTable {
  if (table.generation !== since)
    throw new StaleRoutesError(`The changes are based on generation ${since}; the table in use is ${table.generation}.`)
  const changed = new Set(projects.map(({ project }) => project))
  const routes = [
    ...table.routes.filter((route) => !changed.has(route.project.id)),
    ...projects.flatMap((one) => one.routes),
  ]
  refuseSharedHosts(routes)
  return { ...table, generation, routes }
}
