import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteSnapshot, planRestoreSnapshot, restoreSnapshot } from '../../api/snapshots.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { toastDone } from '../../components/toast.tsx'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { texts } from '../../texts/index.ts'
import { CloneDatabase } from './clone-database.tsx'
import { DatabaseSnapshots, type SnapshotAct } from './database-snapshots.tsx'

const t = texts.databases.snapshots

interface SnapshotDialogsProps {
  project: ProjectView
  name: string
  open: 'snapshots' | 'clone' | null
  onClose: () => void
}

/** Snapshots of a database, what is done with one, and a clone. */
export function SnapshotDialogs({ project, name, open, onClose }: SnapshotDialogsProps) {
  const navigate = useNavigate()
  const [act, setAct] = useState<SnapshotAct | null>(null)
  const back = () => setAct(null)
  const close = () => {
    setAct(null)
    onClose()
  }
  const chosen = act?.snapshot ?? null
  const label = chosen?.name ?? ''
  return (
    <>
      <Dialog open={open === 'snapshots' && act === null} onClose={close} title={t.title(name)} detail={t.detail} wide>
        <DatabaseSnapshots project={project} name={name} onAct={setAct} onClose={close} />
      </Dialog>
      <Dialog
        open={open === 'clone' || act?.do === 'clone'}
        onClose={close}
        title={chosen === null ? t.cloneTitle(name) : t.cloneOf(label)}
        detail={t.cloneDetail}
        wide
      >
        <CloneDatabase project={project} name={name} snapshot={chosen} onClose={close} />
      </Dialog>
      <PlannedConfirm
        open={act?.do === 'restore'}
        onClose={back}
        title={t.restoreTitle(name, label)}
        detail={t.restoreDetail}
        word={name}
        submit={t.restore}
        name={['restore-snapshot', project.id, name, chosen?.id ?? '']}
        ask={(signal) => planRestoreSnapshot(project, name, chosen?.id ?? '', signal)}
        onConfirm={async (typed) => {
          const operation = await restoreSnapshot(project, name, chosen?.id ?? '', typed)
          close()
          await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
        }}
      />
      <ConfirmDialog
        open={act?.do === 'delete'}
        onClose={back}
        title={t.deleteTitle(label)}
        detail={t.deleteDetail}
        submit={t.delete}
        onConfirm={async () => {
          await deleteSnapshot(project.id, name, chosen?.id ?? '')
          toastDone(t.deleted(label))
        }}
      />
    </>
  )
}
