import { useInfiniteQuery } from '@tanstack/react-query'
import { Archive } from 'lucide-react'
import { useState } from 'react'
import { allBackupsQuery, uploadBackup } from '../api/backups.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'
import { type BackupAct, BackupDialogs } from './backups/backup-dialogs.tsx'
import { BackupItem } from './backups/backup-item.tsx'
import { InstanceBackups } from './backups/instance-backups.tsx'
import { SchedulePanel } from './backups/schedule-panel.tsx'
import { TargetsPanel } from './backups/targets-panel.tsx'
import { UploadButton } from './backups/upload-button.tsx'
import { useTitle } from './use-title.ts'

const t = texts.backups

/** Backups of all projects: what is left of deleted ones, and the way in for one that was downloaded. */
export function AllBackupsPage() {
  useTitle(t.allTitle)
  const query = useInfiniteQuery(allBackupsQuery)
  const [act, setAct] = useState<BackupAct | null>(null)
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.allTitle} detail={t.allDetail} actions={<UploadButton label={t.upload} onFile={upload} />} />
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
      <InstanceBackups />
      <SchedulePanel project={null} />
      <TargetsPanel />
      <BackupDialogs act={act} project={null} onClose={() => setAct(null)} />
    </div>
  )
}

async function upload(file: File): Promise<void> {
  const backup = await uploadBackup(file)
  toastDone(t.uploaded(backup.project.name))
}
