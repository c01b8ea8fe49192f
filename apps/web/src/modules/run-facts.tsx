import type { Problem, Run } from '@stackquay/contract'
import { Square } from 'lucide-react'
import { useState } from 'react'
import { cancelRun } from '../api/runs.ts'
import { Button } from '../components/button.tsx'
import { ProblemNote } from '../components/error-state.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastProblem } from '../components/toast.tsx'
import { useNow } from '../components/use-now.ts'
import { formatDuration, formatElapsed } from '../lib/format.ts'
import { isRunOver, runSeconds } from '../lib/runs.ts'
import { texts } from '../texts/index.ts'
import { OperationStatePill } from './state-pill.tsx'
import { useMay } from './use-may.ts'

const t = texts.runs

/** State, exit, time and who, in one line. */
export function RunFacts({ run }: { run: Run }) {
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <OperationStatePill state={run.state} />
      {run.phase !== null && !isRunOver(run) && <span>{run.phase}</span>}
      <RunExit run={run} />
      <RunTime run={run} />
      {run.filter !== null && (
        <span className="min-w-0 break-words">
          {t.filter} <code>{run.filter}</code>
        </span>
      )}
      <span>{t.by(run.actor)}</span>
      <TimeAgo time={run.createdAt} />
    </span>
  )
}

export function RunExit({ run }: { run: Pick<Run, 'exitCode' | 'signal'> }) {
  if (run.signal !== null) return <span className="numbers whitespace-nowrap">{t.exitSignal(run.signal)}</span>
  if (run.exitCode === null) return null
  return <span className="numbers whitespace-nowrap">{t.exitCode(run.exitCode)}</span>
}

/** How long it took; while it runs, a clock. */
export function RunTime({ run }: { run: Run }) {
  if (isRunOver(run)) {
    const seconds = runSeconds(run, 0)
    return seconds === null ? null : (
      <span className="numbers whitespace-nowrap">{t.took(formatElapsed(seconds * 1000))}</span>
    )
  }
  return <Clock run={run} />
}

function Clock({ run }: { run: Run }) {
  const seconds = runSeconds(run, useNow())
  return seconds === null ? null : <span className="numbers whitespace-nowrap">{formatDuration(seconds)}</span>
}

export function RunFailure({ run }: { run: Run }) {
  return run.error === null ? null : <ProblemNote problem={run.error as unknown as Problem} />
}

export function CancelRun({ run }: { run: Run }) {
  const [busy, setBusy] = useState(false)
  const may = useMay()
  if (isRunOver(run) || !may('operate')) return null
  return (
    <Button
      icon={Square}
      busy={busy}
      onClick={async () => {
        setBusy(true)
        try {
          await cancelRun(run.project, run.id)
        } catch (error) {
          toastProblem(error)
        } finally {
          setBusy(false)
        }
      }}
    >
      {t.cancel}
    </Button>
  )
}
