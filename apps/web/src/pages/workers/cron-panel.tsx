import type { NamedCron, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { AlarmClock, Pencil, Play, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { changeWork, cronQuery, runCronJob } from '../../api/workers.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Switch } from '../../components/field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { commandLine } from '../../lib/command-line.ts'
import { timeZoneHere } from '../../lib/usual-times.ts'
import { engineReason } from '../../modules/project-actions.ts'
import { OperationStatePill } from '../../modules/state-pill.tsx'
import { useMay } from '../../modules/use-may.ts'
import { useStartRun } from '../../modules/use-start-run.ts'
import { texts } from '../../texts/index.ts'
import { type CronDraft, CronForm, newCron } from './cron-form.tsx'
import { Presets } from './presets.tsx'
import { timeIn } from './time-in.ts'

const t = texts.workers

export function CronPanel({ project }: { project: ProjectView }) {
  const query = useQuery(cronQuery(project.id))
  const may = useMay()('operate')
  const [draft, setDraft] = useState<CronDraft | null>(null)
  const [removing, setRemoving] = useState<string | null>(null)
  const { items = [], presets = [] } = query.data ?? {}
  return (
    <Panel
      title={t.cron}
      detail={t.cronDetail}
      actions={
        may && (
          <Button size="sm" icon={Plus} onClick={() => setDraft(newCron(timeZoneHere()))}>
            {t.addCron}
          </Button>
        )
      }
      flush
    >
      <Loaded query={query} rows={2}>
        {() =>
          items.length === 0 ? (
            <EmptyState icon={AlarmClock} title={t.noCron} detail={t.noCronDetail} />
          ) : (
            <ul className="divide-y divide-line">
              {items.map((job) => (
                <Job
                  key={job.name}
                  project={project}
                  job={job}
                  onChange={() => setDraft({ ...job, isNew: false, command: commandLine(job.command) })}
                  onRemove={() => setRemoving(job.name)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      <Presets
        presets={presets}
        onAdd={
          may
            ? (preset) => setDraft({ ...newCron(timeZoneHere()), ...preset, command: commandLine(preset.command) })
            : undefined
        }
      />
      <Dialog
        open={draft !== null}
        onClose={() => setDraft(null)}
        title={draft?.isNew === false ? t.changeOne(draft.name) : t.addCron}
        detail={t.cronFormDetail}
        wide
      >
        {draft !== null && <CronForm project={project} draft={draft} onClose={() => setDraft(null)} />}
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={t.removeTitle(removing ?? '')}
        detail={t.removeCronDetail}
        submit={t.remove}
        onConfirm={async () => {
          if (removing !== null) await changeWork(project.id, { cron: { [removing]: null } })
          toastDone(t.removed)
        }}
      />
    </Panel>
  )
}

interface JobProps {
  project: ProjectView
  job: NamedCron
  onChange: () => void
  onRemove: () => void
}

function Job({ project, job, onChange, onRemove }: JobProps) {
  const may = useMay()('operate')
  const { busy, start } = useStartRun(project, 'workers')
  const [switching, setSwitching] = useState(false)
  const toggle = (enabled: boolean) => {
    setSwitching(true)
    changeWork(project.id, { cron: { [job.name]: { enabled } } })
      .catch(toastProblem)
      .finally(() => setSwitching(false))
  }
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="font-medium break-all">{job.name}</span>
          <code className="text-sm text-ink-2">{job.schedule}</code>
          <span className="text-sm text-ink-3">{job.timezone}</span>
        </p>
        <p className="text-sm break-words text-ink-2">
          <code>{commandLine(job.command)}</code>
        </p>
        <p className="text-sm text-ink-3">{nextText(job)}</p>
        <Skipped job={job} />
      </div>
      <LastRun project={project} job={job} />
      {may && (
        <div className="flex items-center gap-2">
          <Switch label={t.onOf(job.name)} hideLabel checked={job.enabled} disabled={switching} onChange={toggle} />
          <Button
            size="sm"
            icon={Play}
            busy={busy !== null}
            reason={engineReason(project)}
            onClick={() => void start(job.name, () => runCronJob(project.id, job.name)).catch(toastProblem)}
          >
            {t.runNow}
            <span className="sr-only"> {job.name}</span>
          </Button>
          <Button size="sm" icon={Pencil} aria-label={t.changeOne(job.name)} onClick={onChange} />
          <Button size="sm" icon={Trash2} aria-label={t.removeOne(job.name)} onClick={onRemove} />
        </div>
      )}
    </li>
  )
}

function nextText({ enabled, copied, nextAt, timezone }: NamedCron): string {
  if (!enabled) return copied ? t.offAsCopy : t.off
  return nextAt === null ? t.notWhileStopped : t.next(timeIn(nextAt, timezone))
}

function Skipped({ job: { lastSkip, lastRun, timezone } }: { job: NamedCron }) {
  if (lastSkip === null || (lastRun !== null && lastRun.createdAt > lastSkip.at)) return null
  return (
    <p className="text-sm text-warn">{t.skipped(timeIn(lastSkip.at, timezone), t.skipReasons[lastSkip.because])}</p>
  )
}

function LastRun({ project, job: { lastRun, name } }: Pick<JobProps, 'project' | 'job'>) {
  if (lastRun === null) return null
  return (
    <Link
      to="/projects/$project/workers"
      params={{ project: project.slug }}
      search={{ run: lastRun.id }}
      className="flex items-center gap-2 rounded text-sm text-ink-2 hover:underline"
    >
      <span className="sr-only">{t.lastRunOf(name)}</span>
      <OperationStatePill state={lastRun.state} />
      <TimeAgo time={lastRun.createdAt} />
    </Link>
  )
}
