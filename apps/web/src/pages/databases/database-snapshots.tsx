import type { ProjectView, Snapshot } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { CopyPlus, Trash2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { createSnapshot, planSnapshot, snapshotsQuery } from '../../api/snapshots.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { ErrorNote, ErrorState } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { SkeletonList } from '../../components/skeleton.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { formatBytes } from '../../lib/format.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { useMay } from '../../modules/use-may.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases.snapshots

export interface SnapshotAct {
  readonly do: 'restore' | 'delete' | 'clone'
  readonly snapshot: Snapshot
}

interface DatabaseSnapshotsProps {
  project: ProjectView
  name: string
  onAct: (act: SnapshotAct) => void
  onClose: () => void
}

/** A new one with its plan, and those that are there. */
export function DatabaseSnapshots({ project, name, onAct, onClose }: DatabaseSnapshotsProps) {
  return (
    <div className="flex flex-col gap-5">
      <NewSnapshot project={project} name={name} onClose={onClose} />
      <SnapshotList project={project} name={name} onAct={onAct} />
    </div>
  )
}

function NewSnapshot({ project, name, onClose }: Omit<DatabaseSnapshotsProps, 'onAct'>) {
  const navigate = useNavigate()
  const [wanted, setWanted] = useState('')
  const { busy, error, clear, run } = useSubmit()
  const live = usePlan(['snapshot', project.id, name], true, (_, signal) => planSnapshot(project.id, name, signal))
  const submit = () =>
    run(async () => {
      const made = await createSnapshot(project.id, name, wanted.trim())
      if ('snapshot' in made) {
        const { method, bytes, milliseconds } = made.snapshot
        setWanted('')
        return toastDone(t.made(formatBytes(bytes), milliseconds, t.methods[method]))
      }
      onClose()
      return navigate({ to: '/operations/$operation', params: { operation: made.operation.id } })
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.name}
        help={t.nameHelp}
        maxLength={60}
        value={wanted}
        onChange={(event) => {
          clear()
          setWanted(event.target.value)
        }}
        mono
        spellCheck={false}
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planning} />
      </div>
      {error !== null && <ErrorNote error={error} />}
      <div>
        <Button type="submit" look="primary" busy={busy} disabled={live.pending || live.plan === null}>
          {t.create}
        </Button>
      </div>
    </Form>
  )
}

function SnapshotList({ project, name, onAct }: Omit<DatabaseSnapshotsProps, 'onClose'>) {
  const query = useQuery(snapshotsQuery(project.id, name))
  if (query.isPending) return <SkeletonList rows={2} height="h-10" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (query.data.items.length === 0) return <p className="text-sm text-ink-3">{t.none}</p>
  return (
    <ul
      className="max-h-80 divide-y divide-line overflow-auto rounded-lg border border-line"
      aria-label={t.title(name)}
    >
      {query.data.items.map((snapshot) => (
        <SnapshotItem key={snapshot.id} snapshot={snapshot} onAct={onAct} />
      ))}
    </ul>
  )
}

function SnapshotItem({ snapshot, onAct }: { snapshot: Snapshot; onAct: (act: SnapshotAct) => void }) {
  const may = useMay()
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2">
      <div className="min-w-0 flex-1 basis-48">
        <p className="font-mono break-all">{snapshot.name}</p>
        <p className="numbers text-sm text-ink-3">
          <TimeAgo time={snapshot.createdAt} /> · {formatBytes(snapshot.bytes)} · {t.methods[snapshot.method]}
        </p>
      </div>
      <div className="flex items-center gap-1.5">
        {may('admin') && (
          <Button
            size="sm"
            icon={Undo2}
            aria-label={t.restoreOne(snapshot.name)}
            onClick={() => onAct({ do: 'restore', snapshot })}
          >
            {t.restore}
          </Button>
        )}
        {may('operate') && (
          <IconButton
            icon={CopyPlus}
            size="sm"
            look="secondary"
            label={t.cloneOne(snapshot.name)}
            onClick={() => onAct({ do: 'clone', snapshot })}
          />
        )}
        {may('admin') && (
          <IconButton
            icon={Trash2}
            size="sm"
            look="secondary"
            label={t.deleteOne(snapshot.name)}
            onClick={() => onAct({ do: 'delete', snapshot })}
          />
        )}
      </div>
    </li>
  )
}
