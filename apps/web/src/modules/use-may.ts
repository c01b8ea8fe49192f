import type { Scope } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../api/queries.ts'
import { includes } from '../lib/token-powers.ts'

/** What the role does not allow is not offered; the service decides all the same. */
export function useMay(): (needed: Scope) => boolean {
  const role = useQuery(meQuery).data?.role ?? 'read'
  return (needed) => includes(role, needed)
}
