import { useQuery } from '@tanstack/react-query'
import { Eye, EyeOff } from 'lucide-react'
import { useId, useState } from 'react'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { type CredentialRow, credentialRows } from '../lib/credentials.ts'
import { labelOfKey } from '../lib/names.ts'
import { texts } from '../texts/index.ts'

const t = texts.credentials

interface CredentialsProps {
  open: boolean
  onClose: () => void
  title: string
  /** Reads them; every read is audited, so it is called once each time the dialog opens. */
  read: (signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>
}

export function CredentialsDialog({ open, onClose, title, read }: CredentialsProps) {
  return (
    <Dialog open={open} onClose={onClose} title={title} detail={t.audited} wide>
      <Credentials read={read} onClose={onClose} />
    </Dialog>
  )
}

/** Kept nowhere but in this part of the page, and gone with it. */
function Credentials({ read, onClose }: Pick<CredentialsProps, 'read' | 'onClose'>) {
  const reading = useId()
  const [shown, setShown] = useState(false)
  const query = useQuery({
    queryKey: ['credentials', reading],
    queryFn: ({ signal }) => read(signal),
    gcTime: 0,
    retry: false,
  })
  if (query.isPending) return <SkeletonList rows={4} height="h-6" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const rows = credentialRows(query.data)
  return (
    <>
      <dl className="divide-y divide-line rounded-lg border border-line">
        {rows.map((row) => (
          <div key={row.name} className="flex min-h-10 flex-wrap items-center gap-x-4 py-1 pr-1.5 pl-3 sm:flex-nowrap">
            <dt className="shrink-0 text-ink-2 max-sm:w-full max-sm:text-sm sm:w-36">{labelOf(row.name)}</dt>
            <dd className="flex min-w-0 flex-1 items-center gap-1">
              <Value row={row} shown={shown} />
            </dd>
          </div>
        ))}
      </dl>
      <DialogActions>
        {rows.some((row) => row.hidden !== null) && (
          <Button icon={shown ? EyeOff : Eye} aria-pressed={shown} onClick={() => setShown(!shown)}>
            {t.showSecrets}
          </Button>
        )}
        <Button look="primary" onClick={onClose}>
          {texts.common.done}
        </Button>
      </DialogActions>
    </>
  )
}

function Value({ row, shown }: { row: CredentialRow; shown: boolean }) {
  if (row.value === null) return <span className="text-ink-3">{t.noneSet}</span>
  return (
    <>
      <code className="min-w-0 flex-1 break-all">{shown || row.hidden === null ? row.value : row.hidden}</code>
      <CopyButton text={row.value} label={`${texts.common.copy}: ${labelOf(row.name)}`} />
    </>
  )
}

function labelOf(name: string): string {
  return t.fields[name] ?? labelOfKey(name)
}
