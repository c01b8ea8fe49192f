import { meQuery } from './api/queries.ts'
import { queryClient } from './api/query-client.ts'
import { onSessionKey } from './api/session-key.ts'
import { ownPath, router } from './router.tsx'

/** All tabs of this origin have one session: what happens to it in one is followed by the others. */
export function followOtherTabs(): void {
  onSessionKey((key) => {
    const { pathname, search, href } = router.state.location
    const isOutside = pathname === '/login' || pathname === '/setup'
    if (key === null) {
      if (isOutside) return
      queryClient.clear()
      void router.navigate({ to: '/login', search: href === '/' ? {} : { next: href } })
    } else if (isOutside) {
      queryClient.removeQueries({ queryKey: meQuery.queryKey })
      void router.navigate({ href: ownPath((search as { next?: unknown }).next) ?? '/' })
    } else {
      // Another session, perhaps of another person, who may not see what is shown.
      location.reload()
    }
  })
}
