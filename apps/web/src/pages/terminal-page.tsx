import type { ProjectView, Terminal } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Captions, Plus, SquareTerminal, X } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { endTerminal, openTerminal, terminalsQuery } from '../api/terminals.ts'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Fill } from '../components/fill.tsx'
import { Menu, MenuItem } from '../components/menu.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastProblem } from '../components/toast.tsx'
import { IconToggle } from '../components/toggle.tsx'
import { useStored } from '../components/use-stored.ts'
import { terminalNames } from '../lib/terminal-names.ts'
import { engineReason } from '../modules/project-actions.ts'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

/** xterm.js is a third of the page’s size: it comes when a terminal is looked at. */
const TerminalView = lazy(async () => ({ default: (await import('../modules/terminal-view.tsx')).TerminalView }))
const t = texts.terminal
const hint = 'terminal-hint'

export function TerminalPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.terminal)
  const may = useMay()
  if (!may('operate')) return <EmptyState icon={SquareTerminal} title={t.notAllowed} detail={t.notAllowedDetail} />
  return <Terminals key={project.id} project={project} />
}

function Terminals({ project }: { project: ProjectView }) {
  const { term } = useSearch({ from: '/app/projects/$project/terminal' })
  const query = useQuery(terminalsQuery(project.id))
  const navigate = useNavigate()
  const [spoken, setSpoken] = useStored<'no' | 'yes'>('stackquay.terminal.spoken', ['no', 'yes'])
  const [closing, setClosing] = useState<Terminal | null>(null)
  const [visited, setVisited] = useState<readonly string[]>([])
  const current = useRef<HTMLButtonElement>(null)
  const terminals = query.data ?? []
  const names = terminalNames(terminals)
  const nameOf = (terminal: Terminal | null) => (terminal === null ? '' : (names.get(terminal.id) ?? terminal.title))
  const shown = terminals.find((terminal) => terminal.id === term) ?? terminals[0]
  const go = (id: string | undefined) =>
    navigate({
      to: '/projects/$project/terminal',
      params: { project: project.slug },
      search: id === undefined ? {} : { term: id },
      replace: true,
    })
  const { busy, open } = useOpen(project, (terminal) => void go(terminal.id))

  // Connected from when it is first looked at; the others behind it stay so.
  const shownId = shown?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: another one in sight is what counts
  useEffect(() => {
    if (shownId === undefined) return
    setVisited((ids) => (ids.includes(shownId) ? ids : [...ids, shownId]))
    // One that is opened elsewhere must not take its place, and a reload comes back to it.
    if (shownId !== term) void go(shownId)
  }, [shownId])
  const close = async (terminal: Terminal) => {
    const at = terminals.indexOf(terminal)
    const neighbour = terminals[at + 1] ?? terminals[at - 1]
    await endTerminal(project.id, terminal.id)
    if (terminal.id === shownId) await go(neighbour?.id)
  }

  if (query.isPending) return <SkeletonList rows={5} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (shown === undefined) {
    return (
      <EmptyState icon={SquareTerminal} title={t.emptyTitle} detail={t.emptyDetail}>
        <OpenButtons project={project} busy={busy} onOpen={open} />
      </EmptyState>
    )
  }
  return (
    <Fill label={texts.project.tabs.terminal}>
      <h2 className="sr-only">{texts.project.tabs.terminal}</h2>
      <div className="flex items-center gap-2 border-b border-line bg-surface px-4 py-1.5 sm:px-6">
        <ul aria-label={t.list} className="scroll-none flex min-w-0 flex-1 gap-1 overflow-x-auto p-0.5">
          {terminals.map((terminal) => (
            <li
              key={terminal.id}
              className={cx(
                'flex shrink-0 items-center rounded-md border',
                terminal.id === shown.id ? 'border-line-strong/60 bg-raised' : 'border-transparent hover:bg-hover',
              )}
            >
              <button
                type="button"
                ref={terminal.id === shown.id ? current : undefined}
                aria-current={terminal.id === shown.id ? 'true' : undefined}
                title={t.openedBy(terminal.actor)}
                onClick={() => void go(terminal.id)}
                className={cx(
                  'flex h-7 max-w-48 items-center gap-1.5 rounded-md px-2 text-sm',
                  terminal.id === shown.id ? 'font-medium' : 'text-ink-2',
                )}
              >
                <span className="truncate">{nameOf(terminal)}</span>
                {terminal.state === 'ended' && <span className="font-normal text-ink-3">{t.over}</span>}
                {terminal.viewers > 1 && (
                  <span className="numbers rounded-full bg-idle-soft px-1.5 text-xs leading-4.5 font-normal text-ink-2">
                    {t.viewers(terminal.viewers)}
                  </span>
                )}
              </button>
              <IconButton
                icon={X}
                label={t.closeOne(nameOf(terminal))}
                size="sm"
                onClick={() =>
                  terminal.state === 'running' ? setClosing(terminal) : void close(terminal).catch(toastProblem)
                }
              />
            </li>
          ))}
        </ul>
        <NewButton project={project} busy={busy} onOpen={open} />
        <IconToggle
          icon={Captions}
          label={t.spoken}
          on={spoken === 'yes'}
          onChange={(on) => setSpoken(on ? 'yes' : 'no')}
        />
      </div>
      <Suspense fallback={<SkeletonList rows={5} />}>
        {terminals
          .filter((terminal) => visited.includes(terminal.id) || terminal.id === shown.id)
          .map((terminal) => (
            <TerminalView
              key={terminal.id}
              project={project.id}
              terminal={terminal}
              active={terminal.id === shown.id}
              spoken={spoken === 'yes'}
              describedBy={hint}
              onLeave={() => current.current?.focus()}
            />
          ))}
      </Suspense>
      <p
        id={hint}
        className="border-t border-line bg-surface px-4 py-1 text-xs text-ink-3 sm:px-6 max-md:sr-only pointer-coarse:sr-only"
      >
        {t.hint}
      </p>
      <ConfirmDialog
        open={closing !== null}
        onClose={() => setClosing(null)}
        title={t.closeTitle(nameOf(closing))}
        detail={t.closeDetail}
        submit={t.close}
        onConfirm={async () => {
          if (closing !== null) await close(closing)
        }}
      />
    </Fill>
  )
}

type Open = (workload: string | undefined) => Promise<void>

function useOpen(project: ProjectView, then: (terminal: Terminal) => void): { busy: boolean; open: Open } {
  const [busy, setBusy] = useState(false)
  return {
    busy,
    open: async (workload) => {
      setBusy(true)
      try {
        then(await openTerminal(project.id, workload))
      } catch (error) {
        toastProblem(error)
      } finally {
        setBusy(false)
      }
    },
  }
}

/** Whose environment a terminal may have. */
function useEnvironments(project: ProjectView): readonly { readonly name: string; readonly label: string }[] {
  const labels = useLabels(project.engine)
  return project.status.workloads
    .filter((workload) => workload.kind === 'runtime')
    .map(({ name }) => ({ name, label: labels[name] ?? name }))
}

interface OpenProps {
  project: ProjectView
  busy: boolean
  onOpen: Open
}

function OpenButtons({ project, busy, onOpen }: OpenProps) {
  const environments = useEnvironments(project)
  const reason = engineReason(project)
  if (environments.length < 2) {
    return (
      <Button icon={Plus} look="primary" busy={busy} reason={reason} onClick={() => void onOpen(environments[0]?.name)}>
        {t.open}
      </Button>
    )
  }
  return environments.map(({ name, label }) => (
    <Button key={name} icon={Plus} busy={busy} reason={reason} onClick={() => void onOpen(name)}>
      {t.openFor(label)}
    </Button>
  ))
}

function NewButton({ project, busy, onOpen }: OpenProps) {
  const environments = useEnvironments(project)
  const reason = engineReason(project)
  if (environments.length < 2 || reason !== null) {
    return (
      <IconButton
        icon={Plus}
        label={t.open}
        look="secondary"
        size="sm"
        busy={busy}
        reason={reason}
        onClick={() => void onOpen(environments[0]?.name)}
      />
    )
  }
  return (
    <Menu trigger={<IconButton icon={Plus} label={t.open} look="secondary" size="sm" busy={busy} />}>
      {environments.map(({ name, label }) => (
        <MenuItem key={name} onSelect={() => void onOpen(name)}>
          {t.openFor(label)}
        </MenuItem>
      ))}
    </Menu>
  )
}
