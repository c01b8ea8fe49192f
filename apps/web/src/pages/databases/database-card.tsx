import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import {
  Camera,
  CopyPlus,
  Download,
  Ellipsis,
  History,
  KeyRound,
  RefreshCw,
  RotateCcw,
  Settings2,
  Table2,
  Trash2,
  Upload,
} from 'lucide-react'
import { useState } from 'react'
import { servicesQuery } from '../../api/queries.ts'
import { Button, buttonClass, IconButton } from '../../components/button.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { Panel } from '../../components/panel.tsx'
import { formatDateTime } from '../../lib/format.ts'
import { Monogram } from '../../modules/monogram.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { WorkloadStatePill } from '../../modules/state-pill.tsx'
import { useLabels } from '../../modules/use-labels.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { ChangeDatabase } from './change-database.tsx'
import { DatabaseDialogs, type OpenDialog } from './database-dialogs.tsx'
import { hasMoments } from './has-moments.ts'

const t = texts.databases

export type DatabaseView = ProjectView['databases'][string]

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
  const [open, setOpen] = useState<OpenDialog>(null)
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
              {database.seed !== undefined && ` · ${t.seed(database.seed.join(', '))}`}
            </p>
          </div>
          {workload && <WorkloadStatePill state={workload.state} />}
          {may('operate') && (
            <DatabaseActs
              project={project.slug}
              name={name}
              hasMoments={type !== undefined && hasMoments(type)}
              changeable={type !== undefined}
              runs={workload?.state === 'running'}
              reason={reason}
              onOpen={setOpen}
            />
          )}
        </div>
        {database.recovered && <RecoveredNote recovered={database.recovered} />}
        {workload?.reason != null && <p className="text-sm break-words text-warn">{workload.reason}</p>}
      </section>
      <DatabaseDialogs project={project} name={name} open={open} onClose={close}>
        {type && <ChangeDatabase project={project} name={name} database={database} type={type} onClose={close} />}
      </DatabaseDialogs>
    </Panel>
  )
}

function RecoveredNote({ recovered }: { recovered: NonNullable<DatabaseView['recovered']> }) {
  const { database, to, lastTransactionAt } = recovered
  return (
    <p className="numbers text-sm text-ink-3">
      {t.pointInTime.recovered(database, formatDateTime(to))}
      {lastTransactionAt !== null && ` · ${t.pointInTime.last(formatDateTime(lastTransactionAt))}`}
    </p>
  )
}

interface DatabaseActsProps {
  project: string
  name: string
  /** Its type can be restored to a moment. */
  hasMoments: boolean
  changeable: boolean
  /** It can be exported and imported. */
  runs: boolean
  /** Why nothing can be changed now. */
  reason: string | null
  onOpen: (open: OpenDialog) => void
}

function DatabaseActs({ project, name, hasMoments, changeable, runs, reason, onOpen }: DatabaseActsProps) {
  const may = useMay()
  return (
    <div className="flex flex-wrap items-center gap-1.5 max-sm:w-full">
      {runs && (
        <Link
          to="/projects/$project/databases/$database/browse"
          params={{ project, database: name }}
          aria-label={t.browseOne(name)}
          className={buttonClass('secondary', 'sm')}
        >
          <Table2 aria-hidden className="size-3.5" />
          {t.browse}
        </Link>
      )}
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
      <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(name)} />}>
        <MenuItem icon={Download} disabled={!runs} onSelect={() => onOpen('export')}>
          {t.dumps.export}
        </MenuItem>
        <MenuItem icon={Upload} disabled={!runs || reason !== null} onSelect={() => onOpen('import')}>
          {t.dumps.import}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Camera} disabled={reason !== null} onSelect={() => onOpen('snapshots')}>
          {t.snapshots.open}
        </MenuItem>
        <MenuItem icon={CopyPlus} disabled={reason !== null} onSelect={() => onOpen('clone')}>
          {t.snapshots.clone}
        </MenuItem>
        {hasMoments && (
          <MenuItem icon={History} disabled={reason !== null} onSelect={() => onOpen('point-in-time')}>
            {t.pointInTime.open}
          </MenuItem>
        )}
        {may('admin') && (
          <>
            <MenuSeparator />
            <MenuItem icon={RefreshCw} disabled={reason !== null} onSelect={() => onOpen('rotate')}>
              {t.rotate}
            </MenuItem>
            <MenuSeparator />
            <MenuItem icon={RotateCcw} danger disabled={reason !== null} onSelect={() => onOpen('reset')}>
              {t.reset}
            </MenuItem>
            <MenuItem icon={Trash2} danger disabled={reason !== null} onSelect={() => onOpen('drop')}>
              {t.drop}
            </MenuItem>
          </>
        )}
      </Menu>
    </div>
  )
}
