import type { TlsCertificate } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Plus, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { tlsQuery } from '../api/tls.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'
import { AcmePanel } from './certificates/acme-panel.tsx'
import { AddCertificate } from './certificates/add-certificate.tsx'
import { CertificatesTable } from './certificates/certificates-table.tsx'
import { HostsTable } from './certificates/hosts-table.tsx'
import { LocalAuthority } from './certificates/local-authority.tsx'
import { useTitle } from './use-title.ts'

const t = texts.certificates

/** What projects answer with over https. */
export function CertificatesPage() {
  useTitle(t.title)
  const query = useQuery(tlsQuery)
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<TlsCertificate | null>(null)
  const add = (
    <Button icon={Plus} look="primary" onClick={() => setAdding(true)}>
      {t.add}
    </Button>
  )
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} actions={add} />
      <Loaded query={query} rows={4} height="h-9">
        {(tls) => (
          <>
            {tls.listen === null && <p className="text-warn">{t.off}</p>}
            {tls.fault !== null && (
              <p role="alert" className="break-words text-warn">
                {tls.fault}
              </p>
            )}
            <Panel flush>
              {tls.certificates.length === 0 ? (
                <EmptyState icon={ShieldCheck} title={t.emptyTitle} detail={t.emptyDetail} />
              ) : (
                <CertificatesTable certificates={tls.certificates} onRemove={setRemoving} />
              )}
            </Panel>
            <AcmePanel />
            <LocalAuthority authority={tls.authority} onChanged={() => void query.refetch()} />
            {tls.hosts.length > 0 && (
              <Panel title={t.hosts} detail={t.hostsDetail} flush>
                <HostsTable hosts={tls.hosts} certificates={tls.certificates} />
              </Panel>
            )}
          </>
        )}
      </Loaded>
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addTitle} detail={t.addDetail} wide>
        <AddCertificate
          onClose={() => setAdding(false)}
          onAdded={async (made) => {
            await query.refetch()
            setAdding(false)
            toastDone(t.added(made.names[0] ?? ''))
          }}
        />
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.removeTitle(removing?.names[0] ?? '')}
        detail={t.removeDetail}
        submit={t.removeSubmit}
        onConfirm={async () => {
          if (removing === null) return
          await client.call('deleteTlsCertificate', { params: { certificate: removing.id } })
          await query.refetch()
          toastDone(t.removed)
        }}
      />
    </div>
  )
}
