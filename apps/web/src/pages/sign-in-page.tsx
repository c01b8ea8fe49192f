import type { OidcSettings } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { oidcQuery } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { formatDateTime } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { ProviderForm } from './sign-in/provider-form.tsx'
import { useTitle } from './use-title.ts'

const t = texts.signIn

/** The provider by which people sign in. */
export function SignInPage() {
  useTitle(t.title)
  const query = useQuery(oidcQuery)
  const [removing, setRemoving] = useState(false)
  const changed = async (settings?: OidcSettings) => {
    if (settings !== undefined) queryClient.setQueryData(oidcQuery.queryKey, settings)
    await queryClient.invalidateQueries({ queryKey: ['oidc-offer'] })
  }
  return (
    <div className="flex w-full max-w-4xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          query.data?.provider != null && (
            <Button className="text-bad" onClick={() => setRemoving(true)}>
              {t.remove}
            </Button>
          )
        }
      />
      <Loaded query={query} rows={5}>
        {({ redirectUri, provider, failingSince }) => (
          <>
            {failingSince !== null && (
              <p role="alert" className="rounded-lg bg-warn-soft px-3 py-2.5">
                {t.failing(formatDateTime(failingSince))}
              </p>
            )}
            <Panel title={t.redirect} detail={t.redirectDetail}>
              <CodeBlock code={redirectUri} label={t.redirect} wrap />
            </Panel>
            <ProviderForm key={JSON.stringify(provider)} provider={provider} onSaved={changed} />
          </>
        )}
      </Loaded>
      <ConfirmDialog
        open={removing}
        onClose={() => setRemoving(false)}
        title={t.removeTitle}
        detail={t.removeDetail}
        submit={t.remove}
        onConfirm={async () => {
          await client.call('deleteOidc')
          await query.refetch()
          await changed()
          toastDone(t.removed)
        }}
      />
    </div>
  )
}
