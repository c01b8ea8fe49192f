import type { Share } from '@stackquay/contract'
import type { ShareRow } from '@stackquay/store'

/** A share as people see it: its password is there or not, and never more. */
export function shareView(row: ShareRow, viewers: number): Share {
  return {
    id: row.id,
    url: row.url,
    provider: row.provider,
    state: row.state,
    detail: row.detail,
    hasPassword: row.passwordHash !== null,
    workload: row.workload,
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
    actor: row.actor,
    viewers,
  }
}
