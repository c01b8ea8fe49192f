import type { ProjectView } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { Ellipsis, Inbox, KeyRound, Power, RefreshCw, Settings2, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { planServiceRotation, planUpdate, rotateService, updateProject } from '../api/changes.ts'
import { client } from '../api/client.ts'
import { Button, buttonClass, IconButton } from '../components/button.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { isObject } from '../lib/settings-draft.ts'
import { texts } from '../texts/index.ts'
import { CredentialsDialog } from './credentials.tsx'
import { Monogram } from './monogram.tsx'
import { PlannedConfirm } from './planned-confirm.tsx'
import { engineReason } from './project-actions.ts'
import { type ServiceKind, serviceSettings } from './service-kind.ts'
import type { SettingsValue } from './settings-form.tsx'
import { WorkloadStatePill } from './state-pill.tsx'
import { useMay } from './use-may.ts'
import { VariableNames } from './variable-names.tsx'

const t = texts.services
type Open = 'credentials' | 'rotate' | 'disable' | 'remove' | null

interface CardProps {
  project: ProjectView
  kind: ServiceKind
  onChange: () => void
}

/** A service in use: how it is, where it answers, what programs receive, and what can be done with it. */
export function ServiceCard({ project, kind, onChange }: CardProps) {
  const may = useMay()
  const reason = engineReason(project)
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const workload = project.status.workloads.find((item) => item.kind === 'service' && item.name === kind.name)
  const runsElsewhere = isElsewhere(serviceSettings(project, kind))
  return (
    <Panel>
      <section aria-labelledby={`service-${kind.name}`} className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Monogram label={kind.label} />
          <div className="min-w-0 flex-1 basis-40">
            <h3 id={`service-${kind.name}`} className="truncate text-base font-medium">
              {kind.label}
            </h3>
            <p className="numbers text-sm text-ink-3">
              <Facts project={project} kind={kind} />
            </p>
          </div>
          {workload && <WorkloadStatePill state={workload.state} />}
          {may('operate') && (
            <div className="flex flex-wrap items-center gap-1.5 max-sm:w-full">
              {kind.hasInbox && (
                <Link
                  to="/projects/$project/mail"
                  params={{ project: project.slug }}
                  className={buttonClass('secondary', 'sm')}
                >
                  <Inbox aria-hidden className="size-3.5" />
                  {t.inbox}
                </Link>
              )}
              {kind.hasCredentials && (
                <Button
                  size="sm"
                  icon={KeyRound}
                  aria-label={t.credentialsOf(kind.label)}
                  onClick={() => setOpen('credentials')}
                >
                  {t.credentials}
                </Button>
              )}
              <Button
                size="sm"
                icon={Settings2}
                aria-label={t.changeOne(kind.label)}
                reason={reason}
                onClick={onChange}
              >
                {t.change}
              </Button>
              <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(kind.label)} />}>
                {kind.hasCredentials && !runsElsewhere && may('admin') && (
                  <MenuItem icon={RefreshCw} disabled={reason !== null} onSelect={() => setOpen('rotate')}>
                    {t.rotate}
                  </MenuItem>
                )}
                <MenuItem icon={Power} disabled={reason !== null} onSelect={() => setOpen('disable')}>
                  {t.disable}
                </MenuItem>
                {kind.keepsData && may('admin') && (
                  <>
                    <MenuSeparator />
                    <MenuItem icon={Trash2} danger disabled={reason !== null} onSelect={() => setOpen('remove')}>
                      {t.removeData}
                    </MenuItem>
                  </>
                )}
              </Menu>
            </div>
          )}
        </div>
        {workload?.reason != null && <p className="text-sm break-words text-warn">{workload.reason}</p>}
        <VariableNames label={t.variables} names={kind.injects} />
      </section>
      <CredentialsDialog
        open={open === 'credentials'}
        onClose={close}
        title={t.credentialsOf(kind.label)}
        read={(signal) =>
          client.call('getServiceCredentials', { params: { id: project.id, service: kind.name } }, { signal })
        }
      />
      <PlannedConfirm
        open={open === 'rotate'}
        onClose={close}
        title={t.rotateTitle(kind.label)}
        detail={t.rotateDetail}
        submit={t.rotateSubmit}
        look="primary"
        name={['rotate', project.id, kind.name]}
        ask={(signal) => planServiceRotation(project.id, kind.name, signal)}
        onConfirm={async () => {
          await rotateService(project.id, kind.name)
          toastDone(t.rotated(kind.label))
        }}
      />
      <Disable project={project} kind={kind} open={open === 'disable'} onClose={close} />
      <Disable project={project} kind={kind} open={open === 'remove'} onClose={close} withData />
    </Panel>
  )
}

/** Off; and its data with it only as an act of its own, with the name typed. */
function Disable({
  project,
  kind,
  open,
  onClose,
  withData = false,
}: {
  project: ProjectView
  kind: ServiceKind
  open: boolean
  onClose: () => void
  withData?: boolean
}) {
  const patch = { [kind.name]: { enabled: false, ...(withData ? { removeData: true } : {}) } }
  return (
    <PlannedConfirm
      open={open}
      onClose={onClose}
      title={withData ? t.removeTitle(kind.label) : t.disableTitle(kind.label)}
      detail={withData ? t.removeDetail : kind.keepsData ? t.disableKeeps : t.disableForgets}
      word={withData ? kind.name : undefined}
      submit={withData ? t.removeSubmit : t.disableSubmit}
      look={withData ? 'danger' : 'primary'}
      name={['disable', project.id, kind.name, String(withData)]}
      ask={(signal) => planUpdate(project.id, patch, signal)}
      onConfirm={async () => {
        await updateProject(project.id, patch)
        toastDone(t.changing(kind.label))
      }}
    />
  )
}

/** `version 8 · http 20013 · loopback only`. */
function Facts({ project, kind }: { project: ProjectView; kind: ServiceKind }) {
  const settings = serviceSettings(project, kind) ?? {}
  const workload = project.status.workloads.find((item) => item.kind === 'service' && item.name === kind.name)
  const version = typeof settings.version === 'string' && settings.version !== '' ? settings.version : null
  const ports = workload?.ports.map((port) => `${port.name} ${port.hostPort}`) ?? []
  const reach = isElsewhere(settings)
    ? t.elsewhere
    : kind.alwaysPublished
      ? t.alwaysPublished
      : settings.exposePort === true
        ? t.published
        : t.loopback
  return [version === null ? null : t.version(version), ...ports, reach].filter((fact) => fact !== null).join(' · ')
}

/** Its settings name a server that somebody else runs: nothing of it is started or changed here. */
function isElsewhere(settings: SettingsValue | null): boolean {
  return isObject(settings?.external)
}
