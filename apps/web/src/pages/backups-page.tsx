import type { Backup, ProjectView } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Archive, Plus } from 'lucide-react'
import { useState } from 'react'
import { backupsQuery } from '../api/backups.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { type BackupAct, BackupDialogs } from './backups/backup-dialogs.tsx'
import { BackupItem } from './backups/backup-item.tsx'
import { CheckpointsPanel } from './backups/checkpoints-panel.tsx'
import { CreateBackup } from './backups/create-backup.tsx'
import { SchedulePanel } from './backups/schedule-panel.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.backups

/** The backups of a project as a timeline, newest first. */
export function BackupsPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.backups)
  const [creating, setCreating] = useState(false)
  const may = useMay()
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="min-w-0 flex-1 basis-64">
          <h2 className="text-base font-semibold">{t.title}</h2>
          <p className="text-sm text-ink-2">{t.detail}</p>
        </div>
        {may('operate') && (
          <Button icon={Plus} look="primary" reason={engineReason(project)} onClick={() => setCreating(true)}>
            {t.create}
          </Button>
        )}
      </div>
      <CheckpointsPanel project={project} />
      <SchedulePanel project={project} />
      <Timeline project={project} />
      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle} detail={t.createDetail} wide>
        <CreateBackup project={project} onClose={() => setCreating(false)} />
      </Dialog>
    </div>
  )
}

function Timeline({ project }: { project: ProjectView }) {
  const query = useInfiniteQuery(backupsQuery(project.id))
  const [act, setAct] = useState<BackupAct | null>(null)
  return (
    <Loaded query={query} rows={3}>
      {({ pages }) => {
        const backups: readonly Backup[] = pages.flatMap(({ items }) => items)
        if (backups.length === 0)
          return (
            <div className="rounded-lg border border-dashed border-line-strong/60">
              <EmptyState icon={Archive} title={t.emptyTitle} detail={t.emptyDetail} />
            </div>
          )
        return (
          <Panel flush>
            <ol className="divide-y divide-line">
              {backups.map((backup) => (
                <BackupItem key={backup.id} backup={backup} project={project} onAct={setAct} />
              ))}
            </ol>
            <MoreButton query={query} />
            <BackupDialogs act={act} project={project} onClose={() => setAct(null)} />
          </Panel>
        )
      }}
    </Loaded>
  )
}
