import { useInfiniteQuery } from '@tanstack/react-query'
import { Archive, Upload } from 'lucide-react'
import { useRef, useState } from 'react'
import { allBackupsQuery, uploadBackup } from '../api/backups.ts'
import { Button } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'
import { type BackupAct, BackupDialogs } from './backups/backup-dialogs.tsx'
import { BackupItem } from './backups/backup-item.tsx'
import { TargetsPanel } from './backups/targets-panel.tsx'
import { useTitle } from './use-title.ts'

const t = texts.backups

/** Backups of all projects: what is left of deleted ones, and the way in for one that was downloaded. */
export function AllBackupsPage() {
  useTitle(t.allTitle)
  const query = useInfiniteQuery(allBackupsQuery)
  const [act, setAct] = useState<BackupAct | null>(null)
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.allTitle} detail={t.allDetail} actions={<UploadButton />} />
      <Loaded query={query} rows={4}>
        {({ pages }) => {
          const backups = pages.flatMap(({ items }) => items)
          return (
            <Panel flush>
              {backups.length === 0 ? (
                <EmptyState icon={Archive} title={t.emptyTitle} detail={t.emptyDetail} />
              ) : (
                <ol className="divide-y divide-line">
                  {backups.map((backup) => (
                    <BackupItem key={backup.id} backup={backup} project={null} onAct={setAct} />
                  ))}
                </ol>
              )}
              <MoreButton query={query} />
            </Panel>
          )
        }}
      </Loaded>
      <TargetsPanel />
      <BackupDialogs act={act} project={null} onClose={() => setAct(null)} />
    </div>
  )
}

function UploadButton() {
  const input = useRef<HTMLInputElement>(null)
  const [busy, setBusy] = useState(false)
  const send = async (file: File) => {
    setBusy(true)
    try {
      const backup = await uploadBackup(file)
      toastDone(t.uploaded(backup.project.name))
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
      // The same file can be chosen again.
      if (input.current !== null) input.current.value = ''
    }
  }
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".tar,application/x-tar"
        aria-label={t.upload}
        tabIndex={-1}
        className="sr-only"
        onChange={(event) => {
          const file = event.target.files?.[0]
          if (file !== undefined) void send(file)
        }}
      />
      <Button icon={Upload} busy={busy} onClick={() => input.current?.click()}>
        {busy ? t.uploading : t.upload}
      </Button>
    </>
  )
}
