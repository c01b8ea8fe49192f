import type { ProjectView, WorkerView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Cog, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { changeWork, workersQuery } from '../../api/workers.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Switch } from '../../components/field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { commandLine } from '../../lib/command-line.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { Presets } from './presets.tsx'
import { type WorkerDraft, WorkerForm } from './worker-form.tsx'

const t = texts.workers

type Named = WorkerView & { name: string; workloads: string[] }

export function WorkersPanel({ project }: { project: ProjectView }) {
  const query = useQuery(workersQuery(project.id))
  const may = useMay()('operate')
  const [draft, setDraft] = useState<WorkerDraft | null>(null)
  const [removing, setRemoving] = useState<string | null>(null)
  const add = () => setDraft({ isNew: true, name: '', command: '', count: 1, runtime: null })
  const { items = [], presets = [] } = query.data ?? {}
  return (
    <Panel
      title={t.workers}
      detail={t.workersDetail}
      actions={
        may && (
          <Button size="sm" icon={Plus} onClick={add}>
            {t.addWorker}
          </Button>
        )
      }
      flush
    >
      <Loaded query={query} rows={2}>
        {() =>
          items.length === 0 ? (
            <EmptyState icon={Cog} title={t.noWorkers} detail={t.noWorkersDetail} />
          ) : (
            <ul className="divide-y divide-line">
              {items.map((worker) => (
                <Worker
                  key={worker.name}
                  project={project}
                  worker={worker}
                  onChange={() => setDraft({ ...worker, isNew: false, command: commandLine(worker.command) })}
                  onRemove={() => setRemoving(worker.name)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      <Presets
        presets={presets}
        onAdd={may ? (preset) => setDraft({ ...preset, isNew: true, command: commandLine(preset.command) }) : undefined}
      />
      <Dialog
        open={draft !== null}
        onClose={() => setDraft(null)}
        title={draft?.isNew === false ? t.changeOne(draft.name) : t.addWorker}
        detail={t.workerFormDetail}
      >
        {draft !== null && <WorkerForm project={project} draft={draft} onClose={() => setDraft(null)} />}
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.removeTitle(removing ?? '')}
        detail={t.removeWorkerDetail}
        submit={t.remove}
        onConfirm={async () => {
          if (removing !== null) await changeWork(project.id, { workers: { [removing]: null } })
          toastDone(t.removed)
        }}
      />
    </Panel>
  )
}

function Worker({
  project,
  worker,
  onChange,
  onRemove,
}: {
  project: ProjectView
  worker: Named
  onChange: () => void
  onRemove: () => void
}) {
  const may = useMay()('operate')
  const [busy, setBusy] = useState(false)
  const running = project.status.workloads.filter(
    ({ name, state }) => worker.workloads.includes(name) && state === 'running',
  ).length
  const toggle = (enabled: boolean) => {
    setBusy(true)
    changeWork(project.id, { workers: { [worker.name]: { enabled } } })
      .catch(toastProblem)
      .finally(() => setBusy(false))
  }
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-48">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="font-medium break-all">{worker.name}</span>
          <span className="numbers text-sm text-ink-3">
            {worker.enabled ? t.running(running, worker.count) : worker.copied ? t.offAsCopy : t.off}
          </span>
        </p>
        <code className="text-sm break-words text-ink-2">{commandLine(worker.command)}</code>
      </div>
      {may && (
        <div className="flex items-center gap-2">
          <Switch label={t.onOf(worker.name)} hideLabel checked={worker.enabled} disabled={busy} onChange={toggle} />
          <Button size="sm" icon={Pencil} aria-label={t.changeOne(worker.name)} onClick={onChange} />
          <Button size="sm" icon={Trash2} aria-label={t.removeOne(worker.name)} onClick={onRemove} />
        </div>
      )}
    </li>
  )
}
