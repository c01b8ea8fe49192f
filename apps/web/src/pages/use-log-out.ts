import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { endSession } from '../api/provider-sign-in.ts'
import { keepSessionKey } from '../api/session-key.ts'
import { toastProblem } from '../components/toast.tsx'

/** Ends the session here, and leads to the provider’s own log-out where the session began there. */
export function useLogOut() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    let url: string | null
    try {
      url = await endSession()
    } catch (error) {
      toastProblem(error)
      return
    }
    keepSessionKey(null)
    queries.clear()
    if (url !== null) window.location.assign(url)
    else await navigate({ to: '/login', search: {} })
  }
}
