import type { ErrorComponentProps } from '@tanstack/react-router'
import { useRouter } from '@tanstack/react-router'
import { ErrorState } from '../components/error-state.tsx'

export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  return (
    <main className="mx-auto max-w-xl p-6">
      <ErrorState
        error={error}
        onRetry={() => {
          reset()
          void router.invalidate()
        }}
      />
    </main>
  )
}
