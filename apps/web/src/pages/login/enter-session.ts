import type { CallResult } from '@stackquay/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { keepDeviceKey } from '../../api/device-keys.ts'
import { keepProviderSession } from '../../api/provider-sign-in.ts'
import { meQuery } from '../../api/queries.ts'
import { keepSessionKey } from '../../api/session-key.ts'

export type Session = CallResult<'loginSecond'>

/** Keeps what a log-in answered, and goes to where one wanted to be. */
export function useEnterSession(next: string | undefined): (session: Session) => Promise<void> {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async ({ deviceKey, csrfToken, ...me }) => {
    keepDeviceKey(me.user, deviceKey)
    keepSessionKey(csrfToken)
    keepProviderSession(false)
    queries.setQueryData(meQuery.queryKey, me)
    await navigate({ href: next ?? '/' })
  }
}
