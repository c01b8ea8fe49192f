import { Link, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { client } from '../api/client.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { enteredAgain } from '../lib/enter.ts'
import { texts } from '../texts/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { useTitle } from './use-title.ts'

const t = texts.enter

/** Sends the browser on to the page of a service, where it is let in because somebody is logged in here. */
export function EnterPage() {
  useTitle(t.pageTitle)
  const { host = '', path, secure } = useSearch({ from: '/enter' })
  const [error, setError] = useState<unknown>(null)
  const [isRefused, setIsRefused] = useState(false)
  const began = useRef(false)

  const enter = async () => {
    setError(null)
    setIsRefused(false)
    try {
      const { url } = await client.call('openServicePage', {
        body: { host, ...(path !== undefined && { path }), ...(secure === true && { secure }) },
      })
      window.location.replace(url)
    } catch (failure) {
      setError(failure)
    }
  }
  useEffect(() => {
    if (began.current) return
    began.current = true
    if (enteredAgain(sessionStorage, host, Date.now())) setIsRefused(true)
    else void enter()
  })

  const isWaiting = error === null && !isRefused
  return (
    <AuthLayout title={t.title} detail={host}>
      <div className="flex flex-col items-start gap-4" aria-busy={isWaiting}>
        {isWaiting && <p role="status">{t.waiting}</p>}
        {error !== null && <ErrorNote error={error} />}
        {isRefused && <p role="alert">{t.noCookie}</p>}
        {!isWaiting && (
          <div className="flex flex-wrap gap-2">
            <Button look="primary" onClick={() => void enter()}>
              {texts.common.retry}
            </Button>
            <Link to="/" className={buttonClass()}>
              {texts.errors.backToProjects}
            </Link>
          </div>
        )}
      </div>
    </AuthLayout>
  )
}
