import type { DomainRow, FormerSlugRow, RulesRow, ShareRow, Store } from '@stackquay/store'

/** What stands between the world and one project. */
export interface ProjectNetwork {
  readonly domains: readonly DomainRow[]
  /** What it was called before, the latest first. */
  readonly formerSlugs: readonly FormerSlugRow[]
  /** Null while none were ever set. */
  readonly rules: RulesRow | null
  readonly share: ShareRow | null
}

/** The network of every project, as it is stored: read once, and again after each change. Routes are made from it. */
export interface Network {
  load(): Promise<void>
  of(project: string): ProjectNetwork
  /** After a write. */
  renew(project: string): Promise<ProjectNetwork>
  /** Of a project that was deleted. */
  forget(project: string): void
}

const nothing: ProjectNetwork = { domains: [], formerSlugs: [], rules: null, share: null }

export function createNetwork(store: Pick<Store, 'network'>): Network {
  const known = new Map<string, ProjectNetwork>()
  const readAt = new Map<string, number>()
  let turns = 0
  return {
    of: (project) => known.get(project) ?? nothing,
    forget: (project) => {
      known.delete(project)
      readAt.delete(project)
    },
    load: async () => {
      const [domains, formerSlugs, rules, shares] = await Promise.all([
        store.network.allDomains(),
        store.network.allFormerSlugs(),
        store.network.allRules(),
        store.network.allShares(),
      ])
      const at = (project: string) => known.get(project) ?? nothing
      for (const domain of domains)
        known.set(domain.project, { ...at(domain.project), domains: [...at(domain.project).domains, domain] })
      for (const former of formerSlugs)
        known.set(former.project, { ...at(former.project), formerSlugs: [...at(former.project).formerSlugs, former] })
      for (const row of rules) known.set(row.project, { ...at(row.project), rules: row })
      for (const share of shares) known.set(share.project, { ...at(share.project), share })
    },
    renew: async (project) => {
      turns += 1
      const turn = turns
      const [domains, formerSlugs, rules, share] = await Promise.all([
        store.network.domains(project),
        store.network.formerSlugs(project),
        store.network.rules(project),
        store.network.share(project),
      ])
      const network = { domains, formerSlugs, rules, share }
      // Two renewals may overlap, and the one that read first may end last: a share that was ended must not come back.
      if (turn < (readAt.get(project) ?? 0)) return known.get(project) ?? network
      readAt.set(project, turn)
      known.set(project, network)
      return network
    },
  }
}
