import type { ProjectSummary, ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { runLifecycle } from '../api/changes.ts'
import { toastProblem } from '../components/toast.tsx'
import { texts } from '../texts/index.ts'

type Act = 'start' | 'stop' | 'restart' | 'sleep'

/**
 * Whether a project is meant to be up, which decides what is offered, and whether anything may be done to it now: not
 * while an operation holds it, nor while its engine does not answer, which is the one thing that needs a `reason`.
 * Something that hangs in its start is ended by cancelling its operation.
 */
export function actsOf(project: Pick<ProjectSummary | ProjectView, 'status' | 'operation'>): {
  up: boolean
  /** It sleeps: starting it is waking it, and it can still be stopped. */
  asleep: boolean
  free: boolean
  reason: string | null
} {
  const { state, desired } = project.status
  const reason = engineReason(project)
  return {
    up: desired === 'running' && state !== 'stopped' && state !== 'sleeping' && state !== 'creating',
    asleep: state === 'sleeping',
    free: project.operation === null && state !== 'creating' && state !== 'deleting' && reason === null,
    reason,
  }
}

/** Why nothing that needs the engine can be done now; null when it answers. */
export function engineReason({ status }: Pick<ProjectSummary | ProjectView, 'status'>): string | null {
  return status.state === 'unknown' ? texts.engines.noAnswerAct : null
}

export function useLifecycle(project: string): {
  busy: Act | null
  run: (act: Act, workload?: string) => Promise<void>
} {
  const [busy, setBusy] = useState<Act | null>(null)
  return {
    busy,
    run: async (act, workload) => {
      setBusy(act)
      try {
        await runLifecycle(act, project, workload)
      } catch (error) {
        toastProblem(error)
      } finally {
        setBusy(null)
      }
    },
  }
}
