import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { cronQuery, runCronJob } from '../api/workers.ts'
import { toastProblem } from '../components/toast.tsx'
import { RunHistory } from '../modules/run-history.tsx'
import { RunPage } from '../modules/run-page.tsx'
import { useStartRun } from '../modules/use-start-run.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'
import { CronPanel } from './workers/cron-panel.tsx'
import { WorkersPanel } from './workers/workers-panel.tsx'

/** Programs beside the server, and commands at times; with a run in the address, that run. */
export function WorkersPage() {
  const project = useProject()
  const { run } = useSearch({ from: '/app/projects/$project/workers' })
  useTitle(project.name, texts.project.tabs.workers)
  return run === undefined ? <Work project={project} /> : <CronRun key={run} project={project} id={run} />
}

function Work({ project }: { project: ProjectView }) {
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <h2 className="sr-only">{texts.project.tabs.workers}</h2>
      <WorkersPanel project={project} />
      <CronPanel project={project} />
      <RunHistory project={project.id} slug={project.slug} kind="cron" />
    </div>
  )
}

function CronRun({ project, id }: { project: ProjectView; id: string }) {
  const { busy, start } = useStartRun(project, 'workers')
  const jobs = useQuery(cronQuery(project.id)).data?.items
  return (
    <RunPage
      project={project}
      id={id}
      list="workers"
      title={(run) => <span className="break-words">{run.name}</span>}
      sourceOf={(run) => {
        const job = jobs?.find(({ name }) => name === run.name)
        return job === undefined ? undefined : { ...job, available: true }
      }}
      busy={busy !== null}
      onAgain={({ name }) => void start(name, () => runCronJob(project.id, name)).catch(toastProblem)}
    >
      {(run) => <code className="text-sm break-words text-ink-2">{run.label}</code>}
    </RunPage>
  )
}
