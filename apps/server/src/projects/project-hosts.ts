import { pageLabel } from '@stackquay/domain'
import type { Config } from '../config.ts'

/** Where projects answer: `<prefix><slug><suffix>` below the base domain, at the port of the proxy. */
export interface ProjectHosts {
  host(slug: string, suffix?: string, prefix?: string): string
  url(slug: string, suffix?: string, prefix?: string): string
  /** Of any host name, with the proxy's port. */
  urlOf(host: string): string
  /** Where people open the page of a service. */
  pageOf(slug: string, service: string): { readonly host: string; readonly url: string }
  /** Whether anything answers there. */
  readonly hasProxy: boolean
  /** Shares are `<random>.<this>`. */
  readonly shareDomain: string
}

/** Asks `config` at each question: the base domain can change. */
export function projectHosts(config: Pick<Config, 'baseDomain' | 'proxy'>): ProjectHosts {
  const { proxy } = config
  const host: ProjectHosts['host'] = (slug, suffix = '', prefix = '') =>
    `${prefix}${slug}${suffix}.${config.baseDomain}`
  const port = proxy === null || proxy.port === 80 ? '' : `:${proxy.port}`
  const urlOf: ProjectHosts['urlOf'] = (name) => `http://${name}${port}`
  return {
    host,
    urlOf,
    url: (slug, suffix, prefix) => urlOf(host(slug, suffix, prefix)),
    pageOf: (slug, service) => {
      const name = host(pageLabel(service, slug))
      return { host: name, url: urlOf(name) }
    },
    hasProxy: config.proxy !== null,
    get shareDomain() {
      return `share.${config.baseDomain}`
    },
  }
}
