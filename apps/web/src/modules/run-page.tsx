import type { ProjectView, Run } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { ArrowLeft, Play } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, buttonClass } from '../components/button.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { PageHeader } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { isRunOver } from '../lib/runs.ts'
import { texts } from '../texts/index.ts'
import { engineReason } from './project-actions.ts'
import { CancelRun, RunFacts, RunFailure } from './run-facts.tsx'
import { RunOutputView } from './run-output-view.tsx'
import { useMay } from './use-may.ts'
import { useRun } from './use-run.ts'

/** One run of an action or of a test suite: what it is, how it ended, and what it prints. */
export function RunPage<Source extends { readonly available: boolean }>({
  project,
  id,
  list,
  title,
  sourceOf,
  busy,
  onAgain,
  children,
}: {
  project: ProjectView
  id: string
  /** The tab that it was started from, and that the page leads back to. */
  list: 'actions' | 'tests' | 'workers'
  title: (run: Run) => ReactNode
  /** What was run, if the project still has it. */
  sourceOf: (run: Run) => Source | undefined
  /** Another run is being started. */
  busy: boolean
  onAgain: (source: Source, run: Run) => void
  /** What stands above the output. */
  children: (run: Run) => ReactNode
}) {
  const { run, error, output, state, missing, retry } = useRun(project.id, id)
  const may = useMay()
  const t = texts[list]
  const back = (
    <Link to={`/projects/$project/${list}`} params={{ project: project.slug }} search={{}} className={buttonClass()}>
      <ArrowLeft aria-hidden className="size-3.5" />
      {t.back}
    </Link>
  )
  if (run === undefined) {
    if (error === null) return <SkeletonList rows={5} />
    return (
      <div className="flex flex-col items-start gap-2 px-4 py-5 sm:px-6">
        <ErrorState error={error} onRetry={retry} />
        {back}
      </div>
    )
  }
  const source = sourceOf(run)
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        level={2}
        title={title(run)}
        detail={<RunFacts run={run} />}
        actions={
          <>
            <CancelRun run={run} />
            {isRunOver(run) && source !== undefined && may('operate') && (
              <Button
                icon={Play}
                busy={busy}
                disabled={!source.available}
                reason={engineReason(project)}
                onClick={() => onAgain(source, run)}
              >
                {t.runAgain}
              </Button>
            )}
            {back}
          </>
        }
      />
      <RunFailure run={run} />
      {error !== null && <ErrorState error={error} onRetry={retry} />}
      {children(run)}
      <RunOutputView
        project={project.id}
        run={run.id}
        output={output}
        state={state}
        missing={missing}
        over={isRunOver(run)}
        className="rounded-lg border border-line bg-surface"
      />
    </div>
  )
}
