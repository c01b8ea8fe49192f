import type { ProjectView } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { dropDatabase, planDatabaseRotation, planDrop, rotateDatabase } from '../../api/changes.ts'
import { client } from '../../api/client.ts'
import { planReset, resetDatabase } from '../../api/snapshots.ts'
import { Dialog } from '../../components/dialog.tsx'
import { toastDone } from '../../components/toast.tsx'
import { CredentialsDialog } from '../../modules/credentials.tsx'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { PurgeCheck } from '../../modules/purge-check.tsx'
import { texts } from '../../texts/index.ts'
import { ExportDatabase } from './export-database.tsx'
import { ImportDatabase } from './import-database.tsx'
import { RestoreTo } from './restore-to.tsx'
import { SnapshotDialogs } from './snapshot-dialogs.tsx'

const t = texts.databases

export type OpenDialog =
  | 'credentials'
  | 'change'
  | 'export'
  | 'import'
  | 'snapshots'
  | 'clone'
  | 'point-in-time'
  | 'rotate'
  | 'reset'
  | 'drop'
  | null

interface DatabaseDialogsProps {
  project: ProjectView
  name: string
  open: OpenDialog
  onClose: () => void
  /** The form of a change. */
  children: ReactNode
}

/** What the buttons and the menu of a database lead to. */
export function DatabaseDialogs({ project, name, open, onClose, children }: DatabaseDialogsProps) {
  return (
    <>
      <CredentialsDialog
        open={open === 'credentials'}
        onClose={onClose}
        title={t.credentialsOf(name)}
        read={(signal) => client.call('getDatabaseCredentials', { params: { id: project.id, db: name } }, { signal })}
      />
      <Dialog open={open === 'change'} onClose={onClose} title={t.changeTitle(name)} wide>
        {children}
      </Dialog>
      <Dialog
        open={open === 'export'}
        onClose={onClose}
        title={t.dumps.exportTitle(name)}
        detail={t.dumps.exportDetail}
      >
        <ExportDatabase project={project.id} name={name} onClose={onClose} />
      </Dialog>
      <Dialog
        open={open === 'import'}
        onClose={onClose}
        title={t.dumps.importTitle(name)}
        detail={t.dumps.importDetail}
        wide
      >
        <ImportDatabase project={project.id} name={name} onClose={onClose} />
      </Dialog>
      <SnapshotDialogs
        project={project}
        name={name}
        open={open === 'snapshots' || open === 'clone' ? open : null}
        onClose={onClose}
      />
      <Dialog
        open={open === 'point-in-time'}
        onClose={onClose}
        title={t.pointInTime.title(name)}
        detail={t.pointInTime.detail}
        wide
      >
        <RestoreTo project={project} name={name} onClose={onClose} />
      </Dialog>
      <ConfirmedActs project={project} name={name} open={open} onClose={onClose} />
    </>
  )
}

/** What is asked about once more, with its plan. */
function ConfirmedActs({ project, name, open, onClose }: Omit<DatabaseDialogsProps, 'children'>) {
  const [purge, setPurge] = useState(false)
  return (
    <>
      <PlannedConfirm
        open={open === 'rotate'}
        onClose={onClose}
        title={t.rotateTitle(name)}
        detail={t.rotateDetail}
        submit={t.rotateSubmit}
        look="primary"
        name={['rotate-database', project.id, name]}
        ask={(signal) => planDatabaseRotation(project.id, name, signal)}
        onConfirm={async () => {
          await rotateDatabase(project.id, name)
          toastDone(t.rotated(name))
        }}
      />
      <ResetDialog project={project} name={name} open={open === 'reset'} onClose={onClose} />
      <PlannedConfirm
        open={open === 'drop'}
        onClose={onClose}
        title={t.dropTitle(name)}
        detail={t.dropDetail}
        word={name}
        submit={t.dropSubmit}
        name={['drop', project.id, name, String(purge)]}
        ask={(signal) => planDrop(project.id, name, purge, signal)}
        onConfirm={async (typed) => {
          await dropDatabase(project.id, name, typed, purge)
          toastDone(t.dropped(name))
        }}
      >
        <PurgeCheck checked={purge} onChange={setPurge} />
      </PlannedConfirm>
    </>
  )
}

function ResetDialog({
  project,
  name,
  open,
  onClose,
}: Omit<DatabaseDialogsProps, 'children' | 'open'> & { open: boolean }) {
  const navigate = useNavigate()
  return (
    <PlannedConfirm
      open={open}
      onClose={onClose}
      title={t.resetTitle(name)}
      detail={t.resetDetail}
      word={name}
      submit={t.resetSubmit}
      name={['reset', project.id, name]}
      ask={(signal) => planReset(project, name, signal)}
      onConfirm={async (typed) => {
        const operation = await resetDatabase(project, name, typed)
        onClose()
        await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
      }}
    />
  )
}
