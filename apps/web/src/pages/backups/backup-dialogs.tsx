import type { Backup, ProjectView } from '@stackquay/contract'
import { deleteBackup } from '../../api/backups.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { toastDone } from '../../components/toast.tsx'
import { formatBytes, formatDateTime } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'
import { CopyToTarget } from './copy-to-target.tsx'
import { RestoreAs } from './restore-as.tsx'
import { RestoreInPlace } from './restore-in-place.tsx'

const t = texts.backups

export interface BackupAct {
  readonly do: 'restore' | 'restore-as' | 'copy' | 'delete'
  readonly backup: Backup
}

interface BackupDialogsProps {
  act: BackupAct | null
  project: ProjectView | null
  onClose: () => void
}

/** What a menu of a backup leads to. */
export function BackupDialogs({ act, project, onClose }: BackupDialogsProps) {
  const backup = act?.backup
  const when = backup === undefined ? '' : formatDateTime(backup.createdAt)
  return (
    <>
      <Dialog open={act?.do === 'restore'} onClose={onClose} title={t.restoreTitle(when)} detail={t.restoreDetail} wide>
        {backup !== undefined && project !== null && (
          <RestoreInPlace backup={backup} project={project} onClose={onClose} />
        )}
      </Dialog>
      <Dialog
        open={act?.do === 'restore-as'}
        onClose={onClose}
        title={t.restoreAsTitle}
        detail={t.restoreAsDetail}
        wide
      >
        {backup !== undefined && <RestoreAs backup={backup} onClose={onClose} />}
      </Dialog>
      <Dialog open={act?.do === 'copy'} onClose={onClose} title={t.copyTitle(when)} detail={t.copyDetail}>
        {backup !== undefined && <CopyToTarget backup={backup.id} onClose={onClose} />}
      </Dialog>
      <ConfirmDialog
        open={act?.do === 'delete'}
        onClose={onClose}
        title={t.deleteTitle(when)}
        detail={backup === undefined ? '' : t.deleteDetail(formatBytes(backup.sizeBytes))}
        word={backup?.project.slug}
        submit={t.deleteSubmit}
        onConfirm={async () => {
          if (backup === undefined) return
          await deleteBackup(backup)
          toastDone(t.deleted)
        }}
      />
    </>
  )
}
