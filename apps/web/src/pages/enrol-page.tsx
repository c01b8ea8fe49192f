import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { LogOut } from 'lucide-react'
import { client } from '../api/client.ts'
import { meQuery } from '../api/queries.ts'
import { keepSessionKey } from '../api/session-key.ts'
import { Button } from '../components/button.tsx'
import { Mark } from '../components/mark.tsx'
import { toastProblem } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'
import { Factors } from './second-factor/factors.tsx'
import { useTitle } from './use-title.ts'

const t = texts.secondFactor

/** Where whoever needs a second factor and has none is led: nothing else is open before. */
export function EnrolPage() {
  useTitle(t.enrolTitle)
  const { next } = useSearch({ from: '/enrol' })
  const me = useQuery(meQuery).data
  const queries = useQueryClient()
  const navigate = useNavigate()
  const isDone = me != null && me.mustEnrol !== true
  const logOut = async () => {
    try {
      await client.call('logout')
    } catch (error) {
      toastProblem(error)
      return
    }
    keepSessionKey(null)
    queries.clear()
    await navigate({ to: '/login', search: {} })
  }
  return (
    <main className="mx-auto flex w-full max-w-2xl flex-col gap-5 px-4 py-10">
      <div>
        <Mark className="size-10" />
        <h1 className="mt-5 text-xl">{t.enrolTitle}</h1>
        <p className="mt-1 text-ink-2">{isDone ? t.enrolDone : t.enrolDetail}</p>
      </div>
      <Factors />
      <div className="flex flex-wrap gap-2">
        {isDone ? (
          <Button look="primary" onClick={() => void navigate({ href: next ?? '/' })}>
            {t.enrolContinue}
          </Button>
        ) : (
          <Button icon={LogOut} onClick={() => void logOut()}>
            {texts.account.logOut}
          </Button>
        )}
      </div>
    </main>
  )
}
