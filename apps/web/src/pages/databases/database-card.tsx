import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Ellipsis, KeyRound, RefreshCw, Settings2, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { dropDatabase, planDatabaseRotation, planDrop, rotateDatabase } from '../../api/changes.ts'
import { client } from '../../api/client.ts'
import { servicesQuery } from '../../api/queries.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { CredentialsDialog } from '../../modules/credentials.tsx'
import { Monogram } from '../../modules/monogram.tsx'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { WorkloadStatePill } from '../../modules/state-pill.tsx'
import { useLabels } from '../../modules/use-labels.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { ChangeDatabase } from './change-database.tsx'

const t = texts.databases

export type DatabaseView = ProjectView['databases'][string]

type Open = 'credentials' | 'change' | 'rotate' | 'drop' | null

export function DatabaseCard({
  project,
  name,
  database,
}: {
  project: ProjectView
  name: string
  database: DatabaseView
}) {
  const labels = useLabels(project.engine)
  const may = useMay()
  const reason = engineReason(project)
  const type = useQuery(servicesQuery(project.engine)).data?.items.find(
    (item) => item.kind === 'database' && item.name === database.type,
  )
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const workload = project.status.workloads.find(
    (item) => item.kind === 'database' && item.name === `${database.type}-${name}`,
  )
  return (
    <Panel>
      <section aria-labelledby={`database-${name}`} className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Monogram label={labels[database.type] ?? database.type} />
          <div className="min-w-0 flex-1 basis-40">
            <h3 id={`database-${name}`} className="truncate font-mono text-base font-medium">
              {name}
            </h3>
            <p className="numbers text-sm text-ink-3">
              {labels[database.type] ?? database.type} {database.version}
              {database.hostPort !== null && ` · ${t.port(database.hostPort)}`} ·{' '}
              {database.exposePort ? t.published : t.loopback}
            </p>
          </div>
          {workload && <WorkloadStatePill state={workload.state} />}
          {may('operate') && (
            <DatabaseActs name={name} changeable={type !== undefined} reason={reason} onOpen={setOpen} />
          )}
        </div>
        {workload?.reason != null && <p className="text-sm break-words text-warn">{workload.reason}</p>}
      </section>
      <CredentialsDialog
        open={open === 'credentials'}
        onClose={close}
        title={t.credentialsOf(name)}
        read={(signal) => client.call('getDatabaseCredentials', { params: { id: project.id, db: name } }, { signal })}
      />
      <Dialog open={open === 'change'} onClose={close} title={t.changeTitle(name)} wide>
        {type && <ChangeDatabase project={project} name={name} database={database} type={type} onClose={close} />}
      </Dialog>
      <PlannedConfirm
        open={open === 'rotate'}
        onClose={close}
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
      <PlannedConfirm
        open={open === 'drop'}
        onClose={close}
        title={t.dropTitle(name)}
        detail={t.dropDetail}
        word={name}
        submit={t.dropSubmit}
        name={['drop', project.id, name]}
        ask={(signal) => planDrop(project.id, name, signal)}
        onConfirm={async (typed) => {
          await dropDatabase(project.id, name, typed)
          toastDone(t.dropped(name))
        }}
      />
    </Panel>
  )
}

interface DatabaseActsProps {
  name: string
  changeable: boolean
  /** Why nothing can be changed now. */
  reason: string | null
  onOpen: (open: Open) => void
}

function DatabaseActs({ name, changeable, reason, onOpen }: DatabaseActsProps) {
  const may = useMay()
  return (
    <div className="flex flex-wrap items-center gap-1.5 max-sm:w-full">
      <Button size="sm" icon={KeyRound} onClick={() => onOpen('credentials')}>
        {t.reveal}
      </Button>
      <Button
        size="sm"
        icon={Settings2}
        aria-label={t.changeOne(name)}
        disabled={!changeable}
        reason={reason}
        onClick={() => onOpen('change')}
      >
        {t.change}
      </Button>
      {may('admin') && (
        <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(name)} />}>
          <MenuItem icon={RefreshCw} disabled={reason !== null} onSelect={() => onOpen('rotate')}>
            {t.rotate}
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger disabled={reason !== null} onSelect={() => onOpen('drop')}>
            {t.drop}
          </MenuItem>
        </Menu>
      )}
    </div>
  )
}
