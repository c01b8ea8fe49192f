import type { Checkpoint, ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteCheckpoint, planRestoreCheckpoint, restoreCheckpoint } from '../../api/checkpoints.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Check } from '../../components/field.tsx'
import { toastDone } from '../../components/toast.tsx'
import { formatBytes } from '../../lib/format.ts'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.backups.checkpoints

export interface CheckpointAct {
  readonly do: 'restore' | 'delete'
  readonly checkpoint: Checkpoint
}

interface CheckpointDialogsProps {
  act: CheckpointAct | null
  project: ProjectView
  onClose: () => void
}

/** What is done with one of them. */
export function CheckpointDialogs({ act, project, onClose }: CheckpointDialogsProps) {
  const navigate = useNavigate()
  const [leaveOutTaken, setLeaveOutTaken] = useState(false)
  const { id = '', name = '', bytes = 0 } = act?.checkpoint ?? {}
  const close = () => {
    setLeaveOutTaken(false)
    onClose()
  }
  return (
    <>
      <PlannedConfirm
        open={act?.do === 'restore'}
        onClose={close}
        title={t.restoreTitle(project.name, name)}
        detail={t.restoreDetail}
        word={project.slug}
        submit={t.restore}
        name={['restore-checkpoint', project.id, id, String(leaveOutTaken)]}
        ask={(signal) => planRestoreCheckpoint(project, id, leaveOutTaken, signal)}
        onConfirm={async (confirm) => {
          const operation = await restoreCheckpoint(project, id, { confirm, leaveOutTaken })
          close()
          await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
        }}
      >
        <div className="mb-4">
          <Check
            label={t.leaveOutTaken}
            help={t.leaveOutTakenHelp}
            checked={leaveOutTaken}
            onChange={setLeaveOutTaken}
          />
        </div>
      </PlannedConfirm>
      <ConfirmDialog
        open={act?.do === 'delete'}
        onClose={close}
        title={t.deleteTitle(name)}
        detail={t.deleteDetail(formatBytes(bytes))}
        submit={t.delete}
        onConfirm={async () => {
          if (act === null) return
          await deleteCheckpoint(project.id, act.checkpoint)
          toastDone(t.deleted(name))
        }}
      />
    </>
  )
}
