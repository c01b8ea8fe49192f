import { Dialog } from '@base-ui/react/dialog'
import type { ProjectSummary } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import {
  Activity,
  Archive,
  Bell,
  ExternalLink,
  FileKey,
  Fingerprint,
  FlaskConical,
  KeyRound,
  LogIn,
  type LucideIcon,
  MonitorSmartphone,
  Network,
  Play,
  Plus,
  Puzzle,
  RotateCw,
  ScrollText,
  ShieldCheck,
  SlidersHorizontal,
  Square,
  SquareTerminal,
  Stethoscope,
  Trash2,
  Users,
  Vault,
  Warehouse,
  Webhook,
  Zap,
} from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { runLifecycle } from '../api/changes.ts'
import { projectsQuery } from '../api/queries.ts'
import { toastProblem } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'
import { actsOf } from './project-actions.ts'
import { ProjectStateIcon } from './state-pill.tsx'
import { useMay } from './use-may.ts'

const t = texts.palette

/** Everything within three keys: projects, pages, and what can be done. */
export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-50 bg-scrim" />
        <Dialog.Popup
          aria-label={t.title}
          className="fixed inset-x-3 top-[8vh] z-50 mx-auto max-w-xl animate-appear overflow-hidden rounded-xl border border-line bg-raised shadow-pop"
        >
          <Commands onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Commands({ onClose }: { onClose: () => void }) {
  const projects = useQuery(projectsQuery).data ?? []
  const navigate = useNavigate()
  const [search, setSearch] = useState('')
  const then = useThen(onClose)
  return (
    <Command label={t.title} loop>
      <Command.Input
        value={search}
        onValueChange={setSearch}
        placeholder={t.placeholder}
        className="h-12 w-full border-b border-line bg-transparent px-4 text-base outline-none"
        autoFocus
      />
      <Command.List className="scroll-thin max-h-[60vh] overflow-y-auto p-1.5 [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-ink-3">
        <Command.Empty className="px-3 py-8 text-center text-ink-2">{t.nothing}</Command.Empty>
        {projects.length > 0 && (
          <Command.Group heading={t.projects}>
            {projects.map((project) => (
              <Entry
                key={project.id}
                value={`${project.name} ${project.slug}`}
                onSelect={then(() => navigate({ to: '/projects/$project', params: { project: project.slug } }))}
              >
                <ProjectStateIcon state={project.status.state} />
                <span className="truncate">{project.name}</span>
                <span className="ml-auto truncate pl-4 text-sm text-ink-3">{project.slug}</span>
              </Entry>
            ))}
          </Command.Group>
        )}
        <Pages onClose={onClose} />
        {search !== '' && projects.length > 0 && (
          <Command.Group heading={t.actions}>
            {projects.map((project) => (
              <ProjectEntries key={project.id} project={project} onClose={onClose} />
            ))}
          </Command.Group>
        )}
      </Command.List>
    </Command>
  )
}

/** Closes the palette, then acts. */
function useThen(onClose: () => void) {
  return (act: () => unknown) => () => {
    onClose()
    Promise.resolve(act()).catch(toastProblem)
  }
}

/** The pages that belong to no project. */
function Pages({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const may = useMay('instance')
  const then = useThen(onClose)
  return (
    <Command.Group heading={t.pages}>
      {may('admin') && <Entry icon={Plus} value={t.newProject} onSelect={then(() => navigate({ to: '/new' }))} />}
      <Entry icon={Warehouse} value={texts.nav.projects} onSelect={then(() => navigate({ to: '/' }))} />
      <Entry icon={Activity} value={texts.nav.activity} onSelect={then(() => navigate({ to: '/activity' }))} />
      <Entry icon={KeyRound} value={texts.nav.tokens} onSelect={then(() => navigate({ to: '/settings/tokens' }))} />
      <Entry
        icon={MonitorSmartphone}
        value={texts.nav.sessions}
        onSelect={then(() => navigate({ to: '/settings/sessions' }))}
      />
      <Entry
        icon={Fingerprint}
        value={texts.nav.secondFactor}
        onSelect={then(() => navigate({ to: '/settings/second-factor' }))}
      />
      <Entry icon={FileKey} value={texts.nav.sshKeys} onSelect={then(() => navigate({ to: '/settings/ssh-keys' }))} />
      {may('admin') && (
        <>
          <Entry icon={Users} value={texts.nav.users} onSelect={then(() => navigate({ to: '/settings/users' }))} />
          <Entry
            icon={SlidersHorizontal}
            value={texts.nav.general}
            onSelect={then(() => navigate({ to: '/settings/general' }))}
          />
          <Entry icon={LogIn} value={texts.nav.signIn} onSelect={then(() => navigate({ to: '/settings/sign-in' }))} />
          <Entry
            icon={ShieldCheck}
            value={texts.nav.certificates}
            onSelect={then(() => navigate({ to: '/settings/certificates' }))}
          />
          <Entry
            icon={Vault}
            value={texts.nav.secretKey}
            onSelect={then(() => navigate({ to: '/settings/secret-key' }))}
          />
          <Entry icon={Puzzle} value={texts.nav.addons} onSelect={then(() => navigate({ to: '/settings/addons' }))} />
          <Entry
            icon={Archive}
            value={texts.nav.backups}
            onSelect={then(() => navigate({ to: '/settings/backups' }))}
          />
          <Entry icon={Trash2} value={texts.nav.trash} onSelect={then(() => navigate({ to: '/settings/trash' }))} />
          <Entry
            icon={Webhook}
            value={texts.nav.webhooks}
            onSelect={then(() => navigate({ to: '/settings/webhooks' }))}
          />
          <Entry
            icon={Bell}
            value={texts.nav.notifications}
            onSelect={then(() => navigate({ to: '/settings/notifications' }))}
          />
          <Entry
            icon={Stethoscope}
            value={texts.nav.diagnostics}
            onSelect={then(() => navigate({ to: '/settings/diagnostics' }))}
          />
        </>
      )}
    </Command.Group>
  )
}

function ProjectEntries({ project, onClose }: { project: ProjectSummary; onClose: () => void }) {
  const navigate = useNavigate()
  const may = useMay(project.id)
  const then = useThen(onClose)
  const { free, up, asleep } = actsOf(project)
  const { id, name, slug, url } = project
  const lifecycle = (act: 'start' | 'restart' | 'stop', icon: LucideIcon, label: string) => (
    <Entry icon={icon} value={label} onSelect={then(() => runLifecycle(act, id))} />
  )
  const section = (page: 'logs' | 'actions' | 'tests' | 'network' | 'terminal', icon: LucideIcon, label: string) => (
    <Entry
      icon={icon}
      value={label}
      onSelect={then(() => navigate({ to: `/projects/$project/${page}`, params: { project: slug } }))}
    />
  )
  return (
    <>
      {may('operate') && free && !up && lifecycle('start', Play, asleep ? t.wakeProject(name) : t.startProject(name))}
      {may('operate') && free && up && lifecycle('restart', RotateCw, t.restartProject(name))}
      {may('operate') && free && up && lifecycle('stop', Square, t.stopProject(name))}
      {section('logs', ScrollText, t.logsOf(name))}
      {section('actions', Zap, t.actionsOf(name))}
      {section('tests', FlaskConical, t.testsOf(name))}
      {section('network', Network, t.networkOf(name))}
      {may('operate') && section('terminal', SquareTerminal, t.terminalOf(name))}
      <Entry
        icon={ExternalLink}
        value={t.openUrl(name)}
        onSelect={then(() => window.open(url, '_blank', 'noreferrer'))}
      />
    </>
  )
}

function Entry({
  icon: Icon,
  value,
  onSelect,
  children,
}: {
  icon?: LucideIcon
  value: string
  onSelect: () => void
  children?: ReactNode
}) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-hover"
    >
      {Icon && <Icon aria-hidden className="size-4 text-ink-3" />}
      {children ?? value}
    </Command.Item>
  )
}
