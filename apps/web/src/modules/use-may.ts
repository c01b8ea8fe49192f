import type { Scope } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { meQuery, projectQuery } from '../api/queries.ts'
import { roleAt } from '../lib/rights.ts'
import { includes } from '../lib/token-powers.ts'

/**
 * What the role does not allow is not offered; the service decides all the same. Asked of the project of the address, or of the one whose id is
 * given; of `instance` for what is about none, or makes one.
 */
export function useMay(at?: string): (needed: Scope) => boolean {
  const me = useQuery(meQuery).data
  const { project: ref } = useParams({ strict: false })
  const isHere = at === undefined && ref !== undefined
  const here = useQuery({ ...projectQuery(ref ?? ''), enabled: isHere }).data?.id
  const project = isHere ? (here ?? '') : (at ?? 'instance')
  const role = me === undefined || me === null ? 'read' : roleAt(me, project === 'instance' ? null : project)
  return (needed) => role !== null && includes(role, needed)
}
