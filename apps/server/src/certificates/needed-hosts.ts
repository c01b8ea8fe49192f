import type { NeededHost } from '@stackquay/domain'
import type { Network } from '../network/network.ts'
import { hostsOfProject } from '../projects/hosts-of-project.ts'
import type { Known } from '../projects/model.ts'
import type { Resolver } from '../projects/resolver.ts'

export interface NeededDeps {
  readonly projects: { all(): readonly Known[] }
  readonly network: Pick<Network, 'of'>
  readonly resolver: Pick<Resolver, 'host' | 'pageOf'>
}

/** Every host at which the proxy answers, once. */
export function neededHosts({ projects, network, resolver }: NeededDeps): readonly NeededHost[] {
  const found = new Map<string, NeededHost>()
  for (const known of projects.all()) {
    for (const host of hostsOfProject(known, network.of(known.row.id), resolver))
      if (!found.has(host)) found.set(host, { host, project: known.row.id })
  }
  return [...found.values()]
}
