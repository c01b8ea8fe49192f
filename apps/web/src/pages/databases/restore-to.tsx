import type { PointInTime, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { problemFrom } from '../../api/client.ts'
import { planRestoreTo, pointInTimeQuery, restoreTo } from '../../api/point-in-time.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote, ErrorState } from '../../components/error-state.tsx'
import { Facts } from '../../components/facts.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { SkeletonList } from '../../components/skeleton.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { formatBytes, formatDateTime } from '../../lib/format.ts'
import { freeName } from '../../lib/names.ts'
import { timeZoneHere } from '../../lib/usual-times.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases.pointInTime
const pointers = ['/to', '/name']

interface RestoreToProps {
  project: ProjectView
  name: string
  onClose: () => void
}

/** What can be restored of a database, and a new one as it was at a moment of that. */
export function RestoreTo({ project, name, onClose }: RestoreToProps) {
  const query = useQuery(pointInTimeQuery(project.id, name))
  if (query.isPending) return <SkeletonList rows={3} height="h-10" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const found = query.data
  return (
    <div className="flex flex-col gap-4">
      {found.ranges.length > 0 && <FoundRanges found={found} />}
      {noteOf(found) !== null && (
        <p className={found.state === 'late' ? 'text-sm text-warn' : 'text-sm text-ink-2'}>{noteOf(found)}</p>
      )}
      {found.ranges.length > 0 ? (
        <RestoreForm project={project} name={name} found={found} onClose={onClose} />
      ) : (
        <DialogActions>
          <Button onClick={onClose}>{texts.common.close}</Button>
        </DialogActions>
      )}
    </div>
  )
}

function noteOf({ state, waiting }: PointInTime): string | null {
  if (state === 'ready') return null
  return state === 'late' ? t.late(waiting) : t[state]
}

function FoundRanges({ found }: { found: PointInTime }) {
  const ranges = found.ranges.map(({ from, to }) => t.range(formatDateTime(from), formatDateTime(to)))
  return (
    <Facts
      items={[
        [
          t.ranges,
          <ul key="ranges" className="numbers">
            {ranges.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>,
        ],
        ...(found.keep === null ? [] : [[t.keep, found.keep] as const]),
        [t.size, formatBytes(found.bytes)],
      ]}
    />
  )
}

function RestoreForm({ project, name, found, onClose }: RestoreToProps & { found: PointInTime }) {
  const navigate = useNavigate()
  // Until a moment of what can be restored: the newest one, in whole seconds.
  const [time, setTime] = useState(() => localSeconds(found.ranges.at(-1)?.to))
  const [wanted, setWanted] = useState(() => freeName(`${name}_then`, Object.keys(project.databases)))
  const { busy, error, clear, run } = useSubmit()
  const to = momentOf(time)
  const body = to === null || wanted === '' ? null : { to, name: wanted }
  const live = usePlan(['restore-to', project.id, name], body, (input, signal) =>
    planRestoreTo(project.id, name, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const submit = () =>
    run(async () => {
      if (body === null) return
      const operation = await restoreTo(project.id, name, body)
      onClose()
      await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.time}
        help={t.timeHelp(timeZoneHere())}
        type="datetime-local"
        step={1}
        required
        value={time}
        onChange={(event) => {
          clear()
          setTime(event.target.value)
        }}
        error={errorsAt(problem?.errors, '/to')}
        autoFocus
      />
      <TextField
        label={t.name}
        required
        maxLength={31}
        value={wanted}
        onChange={(event) => {
          clear()
          setWanted(event.target.value)
        }}
        error={errorsAt(problem?.errors, '/name')}
        mono
        spellCheck={false}
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={t.idle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={live.pending || live.plan === null}>
          {t.submit}
        </Button>
      </DialogActions>
    </Form>
  )
}

/** As an input shows it, in the reader's time zone. */
function localSeconds(time: string | undefined): string {
  if (time === undefined) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

function momentOf(value: string): string | null {
  const at = value === '' ? Number.NaN : new Date(value).getTime()
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
