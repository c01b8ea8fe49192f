import { createHash } from 'node:crypto'
import type { ServiceType } from '@stackquay/catalog'
import { branchSeparator } from './branches.ts'

/** What people open of a service in a browser, at `<service>--<slug>` below the base domain. */
export interface ServicePage {
  /** The name of the service, and of its workload. */
  readonly workload: string
  readonly port: string
}

export function servicePageOf({ name, ports }: Pick<ServiceType, 'name' | 'ports'>): ServicePage | null {
  const port = ports.find(({ page }) => page === true)
  return port === undefined ? null : { workload: name, port: port.name }
}

/** A DNS label has so many characters. */
const mostLabel = 63

/**
 * The label of the page of a service. What is lost of the slug for its length is made up for by a piece of its hash; so is a name of two letters,
 * with which the hyphens would stand where names in other scripts have theirs.
 */
export function pageLabel(service: string, slug: string): string {
  const name = service.length === 2 ? `${service}-${hashOf(service)}` : service
  const room = mostLabel - name.length - branchSeparator.length
  if (slug.length <= room) return `${name}${branchSeparator}${slug}`
  const cut = slug.slice(0, room - hashLength - 1).replace(/-+$/, '')
  return `${name}${branchSeparator}${cut}-${hashOf(slug)}`
}

/** The same as a host name, of a project that answers at `url`. */
export function pageHost(service: string, { slug, url }: { readonly slug: string; readonly url: string }): string {
  return `${pageLabel(service, slug)}${new URL(url).hostname.slice(slug.length)}`
}

const hashLength = 8

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, hashLength)
}
