import type { Config } from '../config.ts'

/** Where projects answer: `<prefix><slug><suffix>` below the base domain, at the port of the proxy. */
export interface ProjectHosts {
  host(slug: string, suffix?: string, prefix?: string): string
  url(slug: string, suffix?: string, prefix?: string): string
  /** Of any host name, with the proxy's port. */
  urlOf(host: string): string
  /** Shares are `<random>.<this>`. */
  readonly shareDomain: string
}

export function projectHosts({ baseDomain, proxy }: Pick<Config, 'baseDomain' | 'proxy'>): ProjectHosts {
  const host: ProjectHosts['host'] = (slug, suffix = '', prefix = '') => `${prefix}${slug}${suffix}.${baseDomain}`
  const port = proxy === null || proxy.port === 80 ? '' : `:${proxy.port}`
  const urlOf: ProjectHosts['urlOf'] = (name) => `http://${name}${port}`
  return {
    host,
    urlOf,
    url: (slug, suffix, prefix) => urlOf(host(slug, suffix, prefix)),
    shareDomain: `share.${baseDomain}`,
  }
}
