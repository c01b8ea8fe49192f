import { highestRole, rightsWithEnvironments } from '@stackquay/domain'
import type { RoutePass } from '@stackquay/proxy/route-table'
import type { PagePassRow, Store } from '@stackquay/store'
import { hopRefusalOf } from './hop-access.ts'

/**
 * Who may come in to the pages of services, as it is stored: read once, and again whenever a session ends, somebody's rights change or one more
 * comes in. Routes are made from it.
 */
export interface PagePasses {
  /** Needed before routes are made. */
  load(): Promise<void>
  /** Name of the cookie of this instance. */
  readonly cookie: string
  of(project: string, service: string): readonly RoutePass[]
  /** Answers the projects whose passes are others now. */
  renew(): Promise<readonly string[]>
}

export function createPagePasses(
  store: Pick<Store, 'pagePasses'>,
  instanceId: () => Promise<string>,
  environments: () => Iterable<{ readonly project: string; readonly of: string }> = () => [],
): PagePasses {
  let cookie = ''
  /** By project. */
  let known: ReadonlyMap<string, readonly PagePassRow[]> = new Map()
  let reading: Promise<unknown> = Promise.resolve()

  const read = async (): Promise<readonly string[]> => {
    const before = known
    // The policy by which they were given, asked again of what their person may do now.
    const all = [...environments()]
    const live = (await store.pagePasses.live()).filter(({ rights, project, service }) => {
      const caller = { scope: highestRole(rights), rights: rightsWithEnvironments(rights, all) }
      return hopRefusalOf({ kind: 'session', ...caller }, project, service) === null
    })
    known = Map.groupBy(live, ({ project }) => project)
    const projects = new Set([...before.keys(), ...known.keys()])
    return [...projects].filter((project) => keyOf(before.get(project)) !== keyOf(known.get(project)))
  }
  return {
    load: async () => {
      cookie = `stackquay_page_${await instanceId()}`
      await read()
    },
    get cookie() {
      return cookie
    },
    of: (project, service) =>
      (known.get(project) ?? [])
        .filter((pass) => pass.service === service)
        .map(({ hash, expiresAt }) => ({ id: hash.slice(0, 16), hash, expiresAt: Date.parse(expiresAt) })),
    // One after the other: what was read first must not be told last.
    renew: () => {
      const mine = reading.then(read)
      reading = mine.catch(() => undefined)
      return mine
    },
  }
}

function keyOf(passes: readonly PagePassRow[] = []): string {
  return passes.map(({ hash, expiresAt }) => `${hash} ${expiresAt}`).join()
}

/** Whoever may no longer come in is out as soon as the proxy has heard of it. Answers the function that ends this. */
export function watchPagePasses({
  store,
  passes,
  publish,
  onError,
}: {
  readonly store: Pick<Store, 'onRights'>
  readonly passes: Pick<PagePasses, 'renew'>
  publish(projects: readonly string[]): Promise<void>
  onError(error: unknown, what: string): void
}): () => void {
  return store.onRights(() => {
    passes
      .renew()
      .then((projects) => (projects.length === 0 ? undefined : publish(projects)))
      .catch((error: unknown) => onError(error, 'looking at who may open pages of services'))
  })
}
