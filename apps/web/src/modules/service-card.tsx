import type { ProjectView } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { Ellipsis, ExternalLink, Inbox, KeyRound, Power, RefreshCw, Settings2, Table2, Trash2 } from 'lucide-react'
import { useState } from 'react'
import {
  planServiceRotation,
  planUpdate,
  readServiceCredentials,
  rotateService,
  updateProject,
} from '../api/changes.ts'
import { Button, buttonClass, IconButton } from '../components/button.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { isObject } from '../lib/settings-changes.ts'
import { texts } from '../texts/index.ts'
import { CredentialsDialog } from './credentials.tsx'
import { Monogram } from './monogram.tsx'
import { PlannedConfirm } from './planned-confirm.tsx'
import { engineReason } from './project-actions.ts'
import { PurgeCheck } from './purge-check.tsx'
import { patchOf, type ServiceType, serviceSettings } from './service-type.ts'
import type { SettingsValue } from './settings-form.tsx'
import { WorkloadStatePill } from './state-pill.tsx'
import { useMay } from './use-may.ts'
import { VariableNames } from './variable-names.tsx'

const t = texts.services
type Open = 'credentials' | 'rotate' | 'disable' | 'remove' | null

interface CardProps {
  project: ProjectView
  type: ServiceType
  pageUrl: string | null
  onChange: () => void
}

/** A service in use: how it is, where it answers, what programs receive, and what can be done with it. */
export function ServiceCard({ project, type, pageUrl, onChange }: CardProps) {
  const may = useMay()
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const workload = project.status.workloads.find((item) => item.kind === 'service' && item.name === type.name)
  return (
    <Panel>
      <section aria-labelledby={`service-${type.name}`} className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Monogram label={type.label} />
          <div className="min-w-0 flex-1 basis-40">
            <h3 id={`service-${type.name}`} className="truncate text-base font-medium">
              {type.label}
            </h3>
            <p className="numbers text-sm text-ink-3">
              <Facts project={project} type={type} />
            </p>
          </div>
          {workload && <WorkloadStatePill state={workload.state} />}
          {may('operate') && (
            <ServiceActs
              project={project}
              type={type}
              pageUrl={pageUrl}
              runs={workload?.state === 'running'}
              onChange={onChange}
              onOpen={setOpen}
            />
          )}
        </div>
        {workload?.reason != null && <p className="text-sm break-words text-warn">{workload.reason}</p>}
        <VariableNames label={t.variables} names={type.injects} />
      </section>
      <CredentialsDialog
        open={open === 'credentials'}
        onClose={close}
        title={t.credentialsOf(type.label)}
        read={(signal) => readServiceCredentials(project.id, type, signal)}
      />
      <PlannedConfirm
        open={open === 'rotate'}
        onClose={close}
        title={t.rotateTitle(type.label)}
        detail={t.rotateDetail}
        submit={t.rotateSubmit}
        look="primary"
        name={['rotate', project.id, type.name]}
        ask={(signal) => planServiceRotation(project.id, type, signal)}
        onConfirm={async () => {
          await rotateService(project.id, type)
          toastDone(t.rotated(type.label))
        }}
      />
      <Disable project={project} type={type} open={open === 'disable'} onClose={close} />
      <Disable project={project} type={type} open={open === 'remove'} onClose={close} withData />
    </Panel>
  )
}

function ServiceActs({
  project,
  type,
  pageUrl,
  runs,
  onChange,
  onOpen,
}: CardProps & { runs: boolean; onOpen: (open: Open) => void }) {
  const may = useMay()
  const reason = engineReason(project)
  return (
    <div className="flex flex-wrap items-center gap-1.5 max-sm:w-full">
      {pageUrl !== null && (
        <a
          href={pageUrl}
          target="_blank"
          rel="noreferrer"
          aria-label={t.openPageOf(type.label)}
          className={buttonClass('secondary', 'sm')}
        >
          <ExternalLink aria-hidden className="size-3.5" />
          {t.openPage}
        </a>
      )}
      {type.hasInbox && (
        <Link
          to="/projects/$project/mail"
          params={{ project: project.slug }}
          className={buttonClass('secondary', 'sm')}
        >
          <Inbox aria-hidden className="size-3.5" />
          {t.inbox}
        </Link>
      )}
      {type.hasKeys && runs && !isElsewhere(serviceSettings(project, type)) && (
        <Link
          to="/projects/$project/services/$service/keys"
          params={{ project: project.slug, service: type.name }}
          aria-label={texts.keys.openOf(type.label)}
          className={buttonClass('secondary', 'sm')}
        >
          <Table2 aria-hidden className="size-3.5" />
          {texts.keys.open}
        </Link>
      )}
      {type.hasCredentials && (
        <Button
          size="sm"
          icon={KeyRound}
          aria-label={t.credentialsOf(type.label)}
          onClick={() => onOpen('credentials')}
        >
          {t.credentials}
        </Button>
      )}
      <Button size="sm" icon={Settings2} aria-label={t.changeOne(type.label)} reason={reason} onClick={onChange}>
        {t.change}
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(type.label)} />}>
        {type.hasCredentials && !isElsewhere(serviceSettings(project, type)) && may('admin') && (
          <MenuItem icon={RefreshCw} disabled={reason !== null} onSelect={() => onOpen('rotate')}>
            {t.rotate}
          </MenuItem>
        )}
        <MenuItem icon={Power} disabled={reason !== null} onSelect={() => onOpen('disable')}>
          {t.disable}
        </MenuItem>
        {type.keepsData && may('admin') && (
          <>
            <MenuSeparator />
            <MenuItem icon={Trash2} danger disabled={reason !== null} onSelect={() => onOpen('remove')}>
              {t.removeData}
            </MenuItem>
          </>
        )}
      </Menu>
    </div>
  )
}

/** Off; and its data with it only as an act of its own, with the name typed. */
function Disable({
  project,
  type,
  open,
  onClose,
  withData = false,
}: {
  project: ProjectView
  type: ServiceType
  open: boolean
  onClose: () => void
  withData?: boolean
}) {
  const [purge, setPurge] = useState(false)
  const purges = withData && purge
  const patch = patchOf(type, { enabled: false, ...(withData ? { removeData: true } : {}) })
  return (
    <PlannedConfirm
      open={open}
      onClose={onClose}
      title={withData ? t.removeTitle(type.label) : t.disableTitle(type.label)}
      detail={withData ? t.removeDetail : type.keepsData ? t.disableKeeps : t.disableForgets}
      word={withData ? type.name : undefined}
      submit={withData ? t.removeSubmit : t.disableSubmit}
      look={withData ? 'danger' : 'primary'}
      name={['disable', project.id, type.name, String(withData), String(purges)]}
      ask={(signal) => planUpdate(project.id, patch, signal, purges)}
      onConfirm={async () => {
        await updateProject(project.id, patch, purges)
        toastDone(t.changing(type.label))
      }}
    >
      {withData && <PurgeCheck checked={purge} onChange={setPurge} />}
    </PlannedConfirm>
  )
}

/** `version 8 · http 20013 · loopback only`. */
function Facts({ project, type }: { project: ProjectView; type: ServiceType }) {
  const settings = serviceSettings(project, type) ?? {}
  const workload = project.status.workloads.find((item) => item.kind === 'service' && item.name === type.name)
  const version = typeof settings.version === 'string' && settings.version !== '' ? settings.version : null
  const ports = workload?.ports.map((port) => `${port.name} ${port.hostPort}`) ?? []
  const published = isElsewhere(settings)
    ? t.elsewhere
    : type.alwaysPublished
      ? t.alwaysPublished
      : settings.exposePort === true
        ? t.published
        : t.loopback
  return [version === null ? null : t.version(version), ...ports, published].filter((fact) => fact !== null).join(' · ')
}

/** Its settings name a server that runs elsewhere: Stackquay neither starts nor changes it. */
function isElsewhere(settings: SettingsValue | null): boolean {
  return isObject(settings?.external)
}
