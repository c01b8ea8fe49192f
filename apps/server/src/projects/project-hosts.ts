import { pageLabel } from '@stackquay/domain'
import type { Config } from '../config.ts'

/** Where projects answer: `<prefix><slug><suffix>` below the base domain, at the port of the proxy. */
export interface ProjectHosts {
  host(slug: string, suffix?: string, prefix?: string): string
  url(slug: string, suffix?: string, prefix?: string): string
  /** Of any host name, with the proxy's port: https where a certificate serves it. */
  urlOf(host: string): string
  /** Where people open the page of a service. */
  pageOf(slug: string, service: string): { readonly host: string; readonly url: string }
  /** Whether anything answers there. */
  readonly hasProxy: boolean
  /** Shares are `<random>.<this>`. */
  readonly shareDomain: string
}

/** Asks at each question: the base domain can change, and whether a host has a certificate. */
export function projectHosts(
  config: Pick<Config, 'baseDomain' | 'proxy' | 'proxyHttps'>,
  isSecure: (host: string) => boolean = () => false,
): ProjectHosts {
  const { proxy, proxyHttps } = config
  const host: ProjectHosts['host'] = (slug, suffix = '', prefix = '') =>
    `${prefix}${slug}${suffix}.${config.baseDomain}`
  const portOf = (address: Config['proxy'], usual: number) =>
    address === null || address.port === usual ? '' : `:${address.port}`
  const [port, securePort] = [portOf(proxy, 80), portOf(proxyHttps, 443)]
  const urlOf: ProjectHosts['urlOf'] = (name) =>
    isSecure(name) ? `https://${name}${securePort}` : `http://${name}${port}`
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
