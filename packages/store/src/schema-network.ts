/** Names, rules and shares of projects. */

export interface DomainsTable {
  host: string
  project: string
  workload: string | null
  created_at: string
}

export interface FormerSlugsTable {
  slug: string
  project: string
  until: string
}

export interface ProxyRulesTable {
  project: string
  rules: string
  revision: number
  updated_at: string
}

export interface SharesTable {
  id: string
  project: string
  provider: string
  workload: string | null
  host: string
  url: string | null
  state: string
  detail: string | null
  password_hash: string | null
  actor: string
  expires_at: string
  created_at: string
}
