import type { Maintenance, ProxyRules, Share } from '@stackquay/contract'

export interface DomainRow {
  /** As it is looked up: lower case, ASCII; `*.example.org` for all names one label below. */
  readonly host: string
  readonly project: string
  /** Where it leads; null: to what owns the project's URL. */
  readonly workload: string | null
  readonly createdAt: string
}

/** The rules as they are kept: a password as its argon2 hash. */
export interface StoredRules extends Omit<ProxyRules, 'basicAuth' | 'signIn' | 'maintenance'> {
  /** Absent in rules from before there was this one. */
  readonly signIn?: boolean
  readonly basicAuth: { readonly username: string; readonly passwordHash: string } | null
  /** `html`: the page of the project, as it was when maintenance was switched on. */
  readonly maintenance?: (Maintenance & { readonly html?: string }) | undefined
}

export interface RulesRow {
  readonly project: string
  /** Grows with every change. */
  readonly revision: number
  readonly rules: StoredRules
}

export interface ShareRow {
  readonly id: string
  readonly project: string
  readonly provider: string
  readonly workload: string | null
  /** The host name under which the proxy knows it. */
  readonly host: string
  readonly url: string | null
  readonly state: Share['state']
  readonly detail: string | null
  readonly passwordHash: string | null
  readonly actor: string
  readonly expiresAt: string
  readonly createdAt: string
}

/** A slug that a project had: its addresses of then lead to those of today. */
export interface FormerSlugRow {
  readonly slug: string
  readonly project: string
  readonly until: string
}

export interface NetworkReader {
  domain(host: string): Promise<DomainRow | null>
  domains(project: string): Promise<readonly DomainRow[]>
  allDomains(): Promise<readonly DomainRow[]>
  formerSlugs(project: string): Promise<readonly FormerSlugRow[]>
  allFormerSlugs(): Promise<readonly FormerSlugRow[]>
  rules(project: string): Promise<RulesRow | null>
  allRules(): Promise<readonly RulesRow[]>
  share(project: string): Promise<ShareRow | null>
  allShares(): Promise<readonly ShareRow[]>
}

export interface NetworkWriter {
  /** Throws `TakenError` with the holding project when the host name is held. */
  addDomain(domain: Omit<DomainRow, 'createdAt'>): Promise<DomainRow>
  removeDomain(host: string): Promise<void>
  /** Whoever asks first has it from now on. */
  removeFormerSlug(slug: string): Promise<void>
  /** Those whose time is over; answers their projects. */
  expireFormerSlugs(at: string): Promise<readonly string[]>
  putRules(project: string, rules: StoredRules): Promise<RulesRow>
  /** In place of the one that the project has. */
  putShare(share: Omit<ShareRow, 'createdAt' | 'detail'>): Promise<ShareRow>
  updateShare(id: string, change: Partial<Pick<ShareRow, 'url' | 'state' | 'detail'>>): Promise<void>
  deleteShare(id: string): Promise<void>
}
