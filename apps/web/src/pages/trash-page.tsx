import type { TrashItem } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Database, File, Folder, Puzzle, Trash2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { purgeTrash, restoreTrash, trashQuery } from '../api/trash.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Check, TextField } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { formatBytes, formatDateTime } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.trash

interface Act {
  readonly do: 'restore' | 'purge'
  readonly item: TrashItem
}

/** What was deleted, with the two ways on: bring it back, or let its disk go. */
export function TrashPage() {
  useTitle(t.title)
  const query = useQuery(trashQuery)
  // A dialog that slides away still shows what it was about.
  const [act, setAct] = useState<Act | null>(null)
  const [open, setOpen] = useState(false)
  const begin = (next: Act) => {
    setAct(next)
    setOpen(true)
  }
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail(query.data?.keepDays ?? null)} />
      <Loaded query={query} rows={3}>
        {({ items }) => (
          <Panel flush>
            {items.length === 0 ? (
              <EmptyState icon={Trash2} title={t.emptyTitle} detail={t.emptyDetail} />
            ) : (
              <ol className="divide-y divide-line">
                {items.map((item) => (
                  <Item key={item.id} item={item} onAct={begin} />
                ))}
              </ol>
            )}
          </Panel>
        )}
      </Loaded>
      {act !== null && <Dialogs key={act.item.id} act={act} open={open} onClose={() => setOpen(false)} />}
    </div>
  )
}

const icons = { project: Folder, database: Database, service: Puzzle, file: File } as const

function Item({ item, onAct }: { item: TrashItem; onAct: (act: Act) => void }) {
  const Icon = icons[item.kind]
  const name = nameOf(item)
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <Icon aria-hidden className="size-4 shrink-0 text-ink-3" />
      <div className="min-w-0 flex-1 basis-56">
        <h2 className="font-medium break-words">{name}</h2>
        <p className="text-sm break-words text-ink-2">
          {t.deleted} <TimeAgo time={item.deletedAt} /> {t.by(item.deletedBy)} ·{' '}
          <span className="numbers">{item.sizeBytes === null ? t.sizeUnknown : formatBytes(item.sizeBytes)}</span>
          {item.kind !== 'project' && item.project.deleted && ` · ${t.projectDeleted}`}
          {item.kind !== 'project' && !item.project.deleted && (
            <>
              {' · '}
              <Link to="/projects/$project" params={{ project: item.project.slug }} className="underline">
                {item.project.name}
              </Link>
            </>
          )}
        </p>
        <p className="numbers text-sm text-ink-3">
          {item.state === 'kept' ? t.keptUntil(formatDateTime(item.purgeAt)) : t.states[item.state]}
        </p>
      </div>
      <div className="flex flex-wrap gap-1.5">
        <Button
          size="sm"
          icon={Undo2}
          disabled={item.state !== 'kept'}
          aria-label={t.restoreOne(name)}
          onClick={() => onAct({ do: 'restore', item })}
        >
          {t.restore}
        </Button>
        <Button
          size="sm"
          icon={Trash2}
          disabled={item.state !== 'kept'}
          aria-label={t.purgeOne(name)}
          onClick={() => onAct({ do: 'purge', item })}
        >
          {t.purge}
        </Button>
      </div>
    </li>
  )
}

function Dialogs({ act: { do: what, item }, open, onClose }: { act: Act; open: boolean; onClose: () => void }) {
  const name = nameOf(item)
  const isProject = item.kind === 'project'
  const [slug, setSlug] = useState(item.name)
  const [leaveOutHosts, setLeaveOutHosts] = useState(false)
  return (
    <>
      <ConfirmDialog
        open={open && what === 'restore'}
        onClose={onClose}
        title={t.restoreTitle(name)}
        detail={
          isProject
            ? t.restoreProjectDetail
            : item.kind === 'file'
              ? t.restoreFileDetail
              : t.restoreDataDetail(item.project.name)
        }
        submit={t.restore}
        look="primary"
        onConfirm={async () => {
          const options = isProject
            ? { ...(slug === item.name ? {} : { slug }), ...(leaveOutHosts ? { leaveOutHosts } : {}) }
            : {}
          await restoreTrash(item, options)
          toastDone(t.restored(name))
        }}
      >
        {isProject && (
          <div className="mb-4 flex flex-col gap-3">
            <TextField
              label={t.slug}
              help={t.slugHelp}
              value={slug}
              onChange={(event) => setSlug(event.target.value)}
              mono
              spellCheck={false}
            />
            <Check label={t.leaveOutHosts} checked={leaveOutHosts} onChange={setLeaveOutHosts} />
          </div>
        )}
      </ConfirmDialog>
      <ConfirmDialog
        open={open && what === 'purge'}
        onClose={onClose}
        title={t.purgeTitle(name)}
        detail={t.purgeDetail(item.sizeBytes === null ? null : formatBytes(item.sizeBytes))}
        word={item.name}
        submit={t.purgeSubmit}
        onConfirm={async (typed) => {
          await purgeTrash(item, typed)
          toastDone(t.purged(name))
        }}
      />
    </>
  )
}

function nameOf({ kind, name, project }: TrashItem): string {
  return kind === 'project' ? project.name : t.names[kind](name, project.name)
}
