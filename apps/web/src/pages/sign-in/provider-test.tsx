import type { OidcTested } from '@stackquay/contract'
import { CircleCheck, CircleX } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.signIn

/** Asks the provider that is typed, before anything is saved. */
export function ProviderTest({ issuer }: { issuer: string }) {
  const [tested, setTested] = useState<OidcTested | null>(null)
  const { busy, error, run } = useSubmit()
  const test = async () => {
    setTested(null)
    setTested(await client.call('testOidc', { body: { issuer } }))
  }
  return (
    <Panel
      title={t.test}
      detail={t.testDetail}
      actions={
        <Button busy={busy} disabled={issuer === ''} onClick={() => void run(test)}>
          {t.testSubmit}
        </Button>
      }
    >
      <div role="status">
        {tested !== null && (
          <ul className="flex flex-col gap-2">
            {tested.checks.map(({ name, ok, detail }) => (
              <li key={name} className="flex gap-2">
                {ok ? (
                  <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
                ) : (
                  <CircleX aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
                )}
                <span className="min-w-0 break-words">
                  <span className="font-medium">{t.checks[name]}</span>
                  <span className="sr-only"> ({ok ? t.passed : t.failed})</span>: {detail}
                </span>
              </li>
            ))}
          </ul>
        )}
        {tested === null && error === null && <p className="text-sm text-ink-2">{t.notTested}</p>}
      </div>
      {error !== null && <ErrorNote error={error} />}
    </Panel>
  )
}
