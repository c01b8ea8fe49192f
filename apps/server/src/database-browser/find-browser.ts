import { databaseTypeOf, type ServiceType, serviceTypeOf } from '@stackquay/catalog'
import { readerName, readerPassword } from '@stackquay/catalog/browse/reader'
import type { Browser } from '@stackquay/catalog/browser/open-browser'
import { ProblemError } from '@stackquay/contract'
import { databaseWorkload } from '@stackquay/domain'
import type { Engine, SecretRef } from '@stackquay/engine-api'
import type { ProjectRow, Store } from '@stackquay/store'
import type { RequestContext } from '../http/handler.ts'
import { databaseFields, serviceFields } from '../projects/given-fields.ts'
import { type Given, onceGiven } from '../projects/once-given.ts'
import type { Resolver } from '../projects/resolver.ts'
import { revealFields } from '../projects/reveal-fields.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import type { ProjectUses } from '../sleep/uses.ts'
import type { Browsers } from './browsers.ts'

export interface FindDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'observe'>
  readonly resolver: Pick<Resolver, 'facts'>
  readonly browsers: Browsers
  readonly awake: Awake
  readonly uses: Pick<ProjectUses, 'begin'>
  reveal(ref: SecretRef): Promise<string>
}

/** Who looks into a database that runs. */
export async function databaseBrowser(
  row: ProjectRow,
  name: string,
  deps: FindDeps,
  context: RequestContext,
): Promise<Browser> {
  const { store, reveal, browsers } = deps
  const database = Object.hasOwn(row.spec.databases, name) ? row.spec.databases[name] : undefined
  const kind = database === undefined ? undefined : databaseTypeOf(database.type)
  if (database === undefined || kind === undefined)
    throw new ProblemError('not_found', `There is no database "${name}".`)
  const workload = databaseWorkload(kind.name, name)
  await requireRunning(row, workload, `The database "${name}"`, deps, context)
  const notGiven = `The database "${name}" was not started yet.`
  const fieldsOf = (given: Given) => databaseFields(kind, { name, inside: database.inside }, given, notGiven)
  const shown = await revealFields(await onceGiven(row.id, fieldsOf, store, context.signal), reveal)
  const password = String(shown.password)
  return browsers.use(`${row.id}/${workload}`, {
    of: 'sql',
    kind: kind.name,
    connection: {
      host: '127.0.0.1',
      port: Number(shown.hostPort),
      database: String(shown.database),
      username: String(shown.username),
      password,
      reader: { username: readerName, password: readerPassword(password) },
    },
  })
}

/** Who looks into a service of keys that runs. */
export async function keyBrowser(
  row: ProjectRow,
  name: string,
  deps: FindDeps,
  context: RequestContext,
): Promise<Browser> {
  const { store, reveal, browsers, resolver } = deps
  const kind: ServiceType | undefined = serviceTypeOf(name)
  const settings = row.spec.services[name]
  if (kind === undefined || settings === undefined || !settings.enabled)
    throw new ProblemError('not_found', `The project has no service "${name}".`)
  if (kind.runsHere?.(settings) === false)
    throw new ProblemError(
      'unavailable_here',
      `${kind.label} of this project runs elsewhere: the browser looks into what runs here.`,
      {
        hint: 'Use a client of your own for it.',
      },
    )
  await requireRunning(row, kind.name, kind.label, deps, context)
  const notGiven = `${kind.label} was not started yet.`
  const fieldsOf = (given: Given) => serviceFields(kind, { row, settings, resolver }, given, notGiven)
  const { host, port, username, password } = await revealFields(
    await onceGiven(row.id, fieldsOf, store, context.signal),
    reveal,
  )
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
  return browsers.use(`${row.id}/${kind.name}`, {
    of: 'keys',
    kind: kind.name,
    connection: { host: String(host), port: Number(port), username: textOf(username), password: textOf(password) },
  })
}

/** Whoever looks uses the project, and wakes it. */
async function requireRunning(
  row: ProjectRow,
  workload: string,
  title: string,
  { engine, awake, uses }: Pick<FindDeps, 'engine' | 'awake' | 'uses'>,
  context: RequestContext,
): Promise<void> {
  uses.begin(row.id)()
  await awake(row, context)
  const observed = await engine.observe(row.id, context.signal)
  if (observed.some((one) => one.ref.workload === workload && one.state === 'running')) return
  throw new ProblemError('not_running', `${title} does not run.`)
}
