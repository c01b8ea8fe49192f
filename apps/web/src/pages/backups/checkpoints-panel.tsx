import type { Checkpoint, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Milestone, Trash2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { checkpointsQuery } from '../../api/checkpoints.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { SkeletonList } from '../../components/skeleton.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { formatBytes } from '../../lib/format.ts'
import { engineReason } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { type CheckpointAct, CheckpointDialogs } from './checkpoint-dialogs.tsx'
import { CreateCheckpoint } from './create-checkpoint.tsx'

const t = texts.backups.checkpoints

/** The whole project as it was at single moments, to go back to. */
export function CheckpointsPanel({ project }: { project: ProjectView }) {
  const may = useMay()
  const [creating, setCreating] = useState(false)
  const [act, setAct] = useState<CheckpointAct | null>(null)
  return (
    <Panel
      flush
      title={t.title}
      detail={t.detail}
      actions={
        may('operate') && (
          <Button icon={Milestone} reason={engineReason(project)} onClick={() => setCreating(true)}>
            {t.create}
          </Button>
        )
      }
    >
      <CheckpointList project={project} onAct={setAct} />
      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle} detail={t.createDetail} wide>
        <CreateCheckpoint project={project} onClose={() => setCreating(false)} />
      </Dialog>
      <CheckpointDialogs act={act} project={project} onClose={() => setAct(null)} />
    </Panel>
  )
}

interface ListProps {
  project: ProjectView
  onAct: (act: CheckpointAct) => void
}

function CheckpointList({ project, onAct }: ListProps) {
  const query = useQuery(checkpointsQuery(project.id))
  if (query.isPending) return <SkeletonList rows={1} height="h-10" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (query.data.items.length === 0) return <p className="px-4 py-3 text-sm text-ink-3">{t.none}</p>
  return (
    <ul className="divide-y divide-line" aria-label={t.title}>
      {query.data.items.map((checkpoint) => (
        <CheckpointItem key={checkpoint.id} checkpoint={checkpoint} project={project} onAct={onAct} />
      ))}
    </ul>
  )
}

function CheckpointItem({ checkpoint, project, onAct }: ListProps & { checkpoint: Checkpoint }) {
  const may = useMay()
  const { name, source, parts, bytes, warnings, createdAt } = checkpoint
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-52">
        <p className="font-medium wrap-anywhere">{name}</p>
        <p className="numbers text-sm text-ink-3 wrap-anywhere">
          <TimeAgo time={createdAt} /> · {formatBytes(bytes)} · {parts.map((part) => part.name).join(', ')}
          {source === 'before-restore' && ` · ${texts.backups.sources[source]}`}
        </p>
        {warnings.length > 0 && <p className="text-sm text-warn wrap-anywhere">{warnings.slice(0, 3).join(' ')}</p>}
      </div>
      {may('admin') && (
        <div className="flex items-center gap-1.5">
          <Button
            size="sm"
            icon={Undo2}
            aria-label={t.restoreOne(name)}
            reason={engineReason(project)}
            onClick={() => onAct({ do: 'restore', checkpoint })}
          >
            {t.restore}
          </Button>
          <IconButton
            icon={Trash2}
            size="sm"
            look="secondary"
            label={t.deleteOne(name)}
            onClick={() => onAct({ do: 'delete', checkpoint })}
          />
        </div>
      )}
    </li>
  )
}
