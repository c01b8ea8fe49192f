import type { BackupTarget } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { fetchBackup, targetBackupsQuery } from '../../api/backup-targets.ts'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { formatBytes, formatDateTime } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backupTargets

/** What lies on a target, also of other instances. */
export function TargetBackups({ target, onClose }: { target: BackupTarget; onClose: () => void }) {
  const query = useQuery(targetBackupsQuery(target.id))
  const navigate = useNavigate()
  const [fetching, setFetching] = useState<string | null>(null)
  const fetch = async (backup: string) => {
    setFetching(backup)
    try {
      const { id } = await fetchBackup(target.id, backup)
      onClose()
      await navigate({ to: '/operations/$operation', params: { operation: id } })
    } catch (error) {
      toastProblem(error)
    } finally {
      setFetching(null)
    }
  }
  return (
    <Loaded query={query} rows={3}>
      {({ items, unreadable }) => (
        <>
          {items.length === 0 && <p className="text-ink-2">{t.nothingThere}</p>}
          <ul className="divide-y divide-line">
            {items.map((item) => (
              <li key={item.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2">
                <div className="min-w-0 flex-1 basis-52">
                  <p className="truncate font-medium">{item.project.name}</p>
                  <p className="text-sm break-words text-ink-2">
                    <span className="numbers">{formatDateTime(item.createdAt)}</span> ·{' '}
                    <span className="numbers">{formatBytes(item.sizeBytes)}</span>
                    {item.note !== null && ` · ${item.note}`}
                    {!item.opens && ` · ${t.doesNotOpen}`}
                  </p>
                </div>
                {item.here ? (
                  <span className="text-sm text-ink-3">{t.isHere}</span>
                ) : (
                  <Button
                    size="sm"
                    icon={Download}
                    busy={fetching === item.id}
                    aria-label={t.fetchOne(item.project.name, formatDateTime(item.createdAt))}
                    onClick={() => void fetch(item.id)}
                  >
                    {t.fetch}
                  </Button>
                )}
              </li>
            ))}
          </ul>
          {unreadable.length > 0 && (
            <ul aria-label={t.unreadable} className="mt-2 rounded-lg bg-warn-soft px-3 py-2 text-sm">
              {unreadable.map((text) => (
                <li key={text} className="break-words">
                  {text}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Loaded>
  )
}
