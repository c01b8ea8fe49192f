import type { BackupScheduleView, ProjectView, ScheduledCopy } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { CalendarClock, CalendarOff, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { backupScheduleQuery, clearBackupSchedule } from '../../api/backups.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorState } from '../../components/error-state.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { formatDateTime } from '../../lib/format.ts'
import { timeZoneHere, usualTimes } from '../../lib/usual-times.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { ScheduleForm } from './schedule-form.tsx'

const t = texts.backups.schedule

/** When backups are made by themselves, whether one is late, and how many stay: of a project, or with null of the instance itself. */
export function SchedulePanel({ project }: { project: ProjectView | null }) {
  const subject = project?.id ?? null
  const query = useQuery(backupScheduleQuery(subject))
  const may = useMay()
  const [open, setOpen] = useState<'edit' | 'clear' | null>(null)
  const close = () => setOpen(null)
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (query.isPending) return null
  const { schedule } = query.data
  return (
    <Panel
      title={project === null ? t.titleOfInstance : t.title}
      actions={
        may('admin') && (
          <>
            {schedule !== null && (
              <Button size="sm" icon={CalendarOff} onClick={() => setOpen('clear')}>
                {t.clear}
              </Button>
            )}
            <Button size="sm" icon={CalendarClock} onClick={() => setOpen('edit')}>
              {schedule === null ? t.set : t.change}
            </Button>
          </>
        )
      }
    >
      {schedule === null ? (
        <p className="text-sm text-ink-2">{project === null ? t.noneOfInstance : t.none}</p>
      ) : (
        <ScheduleFacts schedule={schedule} verifies={project !== null} />
      )}
      <Dialog open={open === 'edit'} onClose={close} title={t.formTitle} detail={t.formDetail} wide>
        <ScheduleForm project={project} schedule={schedule} onClose={close} />
      </Dialog>
      <ConfirmDialog
        open={open === 'clear'}
        onClose={close}
        title={t.clearTitle}
        detail={t.clearDetail}
        submit={t.clear}
        look="primary"
        onConfirm={async () => {
          await clearBackupSchedule(subject)
          toastDone(t.cleared)
        }}
      />
    </Panel>
  )
}

function ScheduleFacts({ schedule, verifies }: { schedule: BackupScheduleView; verifies: boolean }) {
  const { keep, keepOnTargets } = schedule
  const usual = t.usual[usualTimes.indexOf(schedule.cron)]
  const warnings = warningsOf(schedule)
  return (
    <div className="flex flex-col gap-1 text-sm text-ink-2">
      <p>
        {usual === undefined ? <span className="font-mono text-ink">{schedule.cron}</span> : usual}
        {` · ${schedule.timezone}`}
        {schedule.nextAt !== null && (
          <span className="numbers">
            {` · ${t.next(formatDateTime(schedule.nextAt), schedule.timezone !== timeZoneHere())}`}
          </span>
        )}
        {schedule.lastBackupAt !== null && (
          <>
            {` · ${t.last} `}
            <TimeAgo time={schedule.lastBackupAt} />
          </>
        )}
      </p>
      <p className="numbers">
        {t.keeps(keep)} {verifies && t.verifies[schedule.verify]}
      </p>
      {schedule.copies.length > 0 && (
        <p className="numbers break-words">
          {t.copies(schedule.copies.map(copyText))}
          {keepOnTargets !== null && ` · ${t.keepsThere(keepOnTargets)}`}
        </p>
      )}
      {warnings.length > 0 && (
        <div role="status" className="mt-1 flex gap-2 rounded-lg bg-warn-soft px-3 py-2 text-warn">
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          <ul className="flex min-w-0 flex-col gap-1">
            {warnings.map((text) => (
              <li key={text} className="break-words">
                {text}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}

function copyText({ name, state, at }: ScheduledCopy): string {
  if (state === null || at === null) return `${name} (${t.notCopied})`
  return `${name} (${texts.backups.copyStates[state]}, ${formatDateTime(at)})`
}

/** Where targets are named that nothing new came to, that says more. */
function warningsOf({ late, problem, copies }: BackupScheduleView): string[] {
  const isCopyLate = copies.some((copy) => copy.late)
  return [
    ...(late && !isCopyLate ? [t.late] : []),
    ...(problem === null ? [] : [problem]),
    ...copies.flatMap((copy) => [
      ...(copy.late ? [t.copyLate(copy.name)] : []),
      ...(copy.problem === null ? [] : [t.copyProblem(copy.name, copy.problem)]),
      ...(copy.keepProblem === null ? [] : [t.keepProblem(copy.name, copy.keepProblem)]),
    ]),
  ]
}
