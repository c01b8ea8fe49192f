import { type ProjectFacts, SettingsError, type SourceFiles } from '@stackquay/catalog'
import type { ContainerFacts, ResolveFacts } from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { OurPrograms } from '../catalogue/our-programs.ts'
import type { Config } from '../config.ts'
import type { Resolvable } from './resolver.ts'
import { workDone } from './work-done.ts'

export interface ResolveFactsDeps {
  readonly config: Pick<Config, 'publishAddress'>
  readonly store: Pick<Store, 'ports' | 'secrets' | 'archives'>
  readonly catalogue: Catalogue
  readonly programs: OurPrograms
  /** What its containers are made of; null for a project whose programs run on this machine. */
  containers(project: Pick<Resolvable, 'id' | 'engine'>): Promise<ContainerFacts | null>
}

/** Gathers everything that a specification of the project is resolved by. `source` reads what it says of itself. */
export async function resolveFacts(
  project: Resolvable,
  facts: ProjectFacts,
  source: () => Promise<SourceFiles>,
  { config, store, catalogue, programs, containers }: ResolveFactsDeps,
): Promise<ResolveFacts> {
  workDone.resolved.publish(project.id)
  await catalogue.offers()
  const [files, leases, secrets, archives] = await Promise.all([
    source(),
    store.ports.of(project.id),
    store.secrets.of(project.id),
    store.archives.of(project.id),
  ])
  return {
    project: facts,
    source: files,
    toolchain: catalogue.toolchain,
    helpers: catalogue.helpers,
    lease: (workload, port) =>
      leases.find((lease) => lease.workload === workload && lease.port === port)?.hostPort ?? null,
    secret: (name) => secrets[name] ?? null,
    archive: (data) => archives.find((one) => one.data === data && one.endedAt === null)?.id ?? null,
    publishAddress: config.publishAddress,
    ourProgram: (name) => ({ node: catalogue.ourNode(), file: broughtFile(programs, name) }),
    containers: await containers(project),
  }
}

/** As after a rotation of these secrets, for a look at what it would do. */
export function withRotated(facts: ResolveFacts, rotated: readonly string[]): ResolveFacts {
  if (rotated.length === 0) return facts
  return {
    ...facts,
    secret: (name, length) => {
      const handle = facts.secret(name, length)
      return handle !== null && rotated.includes(name) ? { ...handle, version: handle.version + 1 } : handle
    },
  }
}

/** As after a start, which begins the archives that are wanted, for a look at what it would do. */
export function withArchives(facts: ResolveFacts): ResolveFacts {
  return { ...facts, archive: (data) => facts.archive?.(data) ?? pendingArchive }
}

/** No data is called like this. */
const pendingArchive = 'arc_pending'

/** A full disk or a missing package is a blocker for this one kind, never for the whole service. */
function broughtFile(programs: OurPrograms, name: string): string {
  try {
    return programs.file(name)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new SettingsError(
      'version',
      `Its program "${name}" could not be copied: ${why}`,
      'Mend that, then try again.',
    )
  }
}
