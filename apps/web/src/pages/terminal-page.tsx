import type { ProjectView, Terminal } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Captions, SquareTerminal, X } from 'lucide-react'
import { lazy, type RefObject, Suspense, useEffect, useRef, useState } from 'react'
import { endTerminal, terminalsQuery } from '../api/terminals.ts'
import { IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Fill } from '../components/fill.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastProblem } from '../components/toast.tsx'
import { IconToggle } from '../components/toggle.tsx'
import { useStoredFlag } from '../components/use-stored.ts'
import { terminalNames } from '../lib/terminal-names.ts'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { NewButton, OpenButtons, useOpen } from './terminal/open-buttons.tsx'
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
  const query = useQuery(terminalsQuery(project.id))
  const terminals = query.data ?? []
  const { shown, visited, go } = useShown(project, terminals)
  const [spoken, setSpoken] = useStoredFlag('stackquay.terminal.spoken', false)
  const [closing, setClosing] = useState<Terminal | null>(null)
  const current = useRef<HTMLButtonElement>(null)
  const names = terminalNames(terminals)
  const nameOf = (terminal: Terminal | null) => (terminal === null ? '' : (names.get(terminal.id) ?? terminal.title))
  const { busy, open } = useOpen(project, (terminal) => void go(terminal.id))
  const close = async (terminal: Terminal) => {
    const at = terminals.indexOf(terminal)
    const neighbour = terminals[at + 1] ?? terminals[at - 1]
    await endTerminal(project.id, terminal.id)
    if (terminal.id === shown?.id) await go(neighbour?.id)
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
            <TerminalTab
              key={terminal.id}
              terminal={terminal}
              name={nameOf(terminal)}
              button={terminal.id === shown.id ? current : null}
              onShow={() => void go(terminal.id)}
              onClose={() =>
                terminal.state === 'running' ? setClosing(terminal) : void close(terminal).catch(toastProblem)
              }
            />
          ))}
        </ul>
        <NewButton project={project} busy={busy} onOpen={open} />
        <IconToggle icon={Captions} label={t.spoken} on={spoken} onChange={setSpoken} />
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
              spoken={spoken}
              describedBy={hint}
              onLeave={() => current.current?.focus()}
            />
          ))}
      </Suspense>
      <Hint />
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

/** Tells the way out of a terminal by keyboard. */
function Hint() {
  return (
    <p
      id={hint}
      className="border-t border-line bg-surface px-4 py-1 text-xs text-ink-3 sm:px-6 max-md:sr-only pointer-coarse:sr-only"
    >
      {t.hint}
    </p>
  )
}

/** Which one is in sight; the address says so. */
function useShown(project: ProjectView, terminals: readonly Terminal[]) {
  const { term } = useSearch({ from: '/app/projects/$project/terminal' })
  const navigate = useNavigate()
  const [visited, setVisited] = useState<readonly string[]>([])
  const shown = terminals.find((terminal) => terminal.id === term) ?? terminals[0]
  const go = (id: string | undefined) =>
    navigate({
      to: '/projects/$project/terminal',
      params: { project: project.slug },
      search: id === undefined ? {} : { term: id },
      replace: true,
    })
  // Connected from when it is first looked at; the others behind it stay so.
  const shownId = shown?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: another one in sight is what counts
  useEffect(() => {
    if (shownId === undefined) return
    setVisited((ids) => (ids.includes(shownId) ? ids : [...ids, shownId]))
    // One that is opened elsewhere must not take its place, and a reload comes back to it.
    if (shownId !== term) void go(shownId)
  }, [shownId])
  return { shown, visited, go }
}

interface TerminalTabProps {
  terminal: Terminal
  name: string
  /** Takes the button of the one that is shown; null for the others. */
  button: RefObject<HTMLButtonElement | null> | null
  onShow: () => void
  onClose: () => void
}

function TerminalTab({ terminal, name, button, onShow, onClose }: TerminalTabProps) {
  const shown = button !== null
  return (
    <li
      className={cx(
        'flex shrink-0 items-center rounded-md border',
        shown ? 'border-line-strong/60 bg-raised' : 'border-transparent hover:bg-hover',
      )}
    >
      <button
        type="button"
        ref={button ?? undefined}
        aria-current={shown ? 'true' : undefined}
        title={t.openedBy(terminal.actor)}
        onClick={onShow}
        className={cx(
          'flex h-7 max-w-48 items-center gap-1.5 rounded-md px-2 text-sm',
          shown ? 'font-medium' : 'text-ink-2',
        )}
      >
        <span className="truncate">{name}</span>
        {terminal.state === 'ended' && <span className="font-normal text-ink-3">{t.over}</span>}
        {terminal.viewers > 1 && (
          <span className="numbers rounded-full bg-idle-soft px-1.5 text-xs leading-4.5 font-normal text-ink-2">
            {t.viewers(terminal.viewers)}
          </span>
        )}
      </button>
      <IconButton icon={X} label={t.closeOne(name)} size="sm" onClick={onClose} />
    </li>
  )
}
