import type { ProjectNetwork } from '../network/network.ts'
import type { Known } from './model-entry.ts'
import type { Resolver } from './resolver.ts'

/** Every host at which the proxy answers for a project. */
export function hostsOfProject(
  known: Pick<Known, 'row' | 'resolved'>,
  network: Pick<ProjectNetwork, 'domains' | 'formerSlugs' | 'share'>,
  resolver: Pick<Resolver, 'host' | 'pageOf'>,
): readonly string[] {
  const { domains, share } = network
  const named = [
    ...ownHosts(known, resolver),
    ...pageHosts(known, resolver),
    ...formerHosts(known, network, resolver),
    ...domains,
    ...(share === null ? [] : [share]),
  ]
  return named.map(({ host }) => host)
}

export function ownHosts({ row, resolved }: Pick<Known, 'row' | 'resolved'>, resolver: Pick<Resolver, 'host'>) {
  const extra = resolved.extraHosts.map(({ prefix, suffix, workload }) => ({
    host: resolver.host(row.slug, suffix, prefix),
    workload,
  }))
  return [{ host: resolver.host(row.slug), workload: null }, ...extra]
}

/** Of services, for people who are signed in. */
export function pageHosts({ row, resolved }: Pick<Known, 'row' | 'resolved'>, resolver: Pick<Resolver, 'pageOf'>) {
  return resolved.pages.map(({ workload, port }) => ({
    host: resolver.pageOf(row.slug, workload).host,
    workload,
    port,
  }))
}

/** Hosts of before a rename, and the one that each leads to. */
export function formerHosts(
  { row, resolved }: Pick<Known, 'row' | 'resolved'>,
  { formerSlugs }: Pick<ProjectNetwork, 'formerSlugs'>,
  resolver: Pick<Resolver, 'host'>,
) {
  const places = [{ prefix: '', suffix: '' }, ...resolved.extraHosts]
  return formerSlugs.flatMap(({ slug, until }) =>
    places.map(({ prefix, suffix }) => ({
      host: resolver.host(slug, suffix, prefix),
      to: resolver.host(row.slug, suffix, prefix),
      until,
    })),
  )
}
