import type { Action, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { Play, SquareTerminal } from 'lucide-react'
import { useState } from 'react'
import { actionsQuery, runAction } from '../api/runs.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { toastProblem } from '../components/toast.tsx'
import { byRuntime } from '../lib/runs.ts'
import { engineReason } from '../modules/project-actions.ts'
import { RunHistory } from '../modules/run-history.tsx'
import { RunPage } from '../modules/run-page.tsx'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { useStartRun } from '../modules/use-start-run.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.actions

/** What the project can do, found from its source; with a run in the address, that run. */
export function ActionsPage() {
  const project = useProject()
  const { run } = useSearch({ from: '/app/projects/$project/actions' })
  useTitle(project.name, texts.project.tabs.actions)
  return run === undefined ? <Actions project={project} /> : <ActionRun key={run} project={project} id={run} />
}

function useStart(project: ProjectView) {
  const { busy, start } = useStartRun(project, 'actions')
  return { busy, start: (action: string) => start(action, () => runAction(project.id, action)) }
}

function Actions({ project }: { project: ProjectView }) {
  const query = useQuery(actionsQuery(project.id))
  const labels = useLabels(project.engine)
  const { busy, start } = useStart(project)
  const [asking, setAsking] = useState<Action | null>(null)
  const actions = query.data ?? []
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <h2 className="sr-only">{texts.project.tabs.actions}</h2>
      <Loaded query={query} rows={4}>
        {() =>
          actions.length === 0 ? (
            <Panel>
              <EmptyState icon={SquareTerminal} title={t.emptyTitle} detail={t.emptyDetail} />
            </Panel>
          ) : (
            byRuntime(actions).map((group) => (
              <Panel
                key={group.runtime}
                title={group.runtime === null ? t.ofProject : (labels[group.runtime] ?? group.runtime)}
                flush
              >
                <ul className="divide-y divide-line">
                  {group.items.map((action) => (
                    <ActionRow
                      key={action.id}
                      action={action}
                      project={project}
                      busy={busy === action.id}
                      onRun={() => (action.destructive ? setAsking(action) : void start(action.id).catch(toastProblem))}
                    />
                  ))}
                </ul>
              </Panel>
            ))
          )
        }
      </Loaded>
      <RunHistory project={project.id} slug={project.slug} kind="action" />
      <ConfirmDialog
        open={asking !== null}
        onClose={() => setAsking(null)}
        title={t.askTitle(asking?.label ?? '')}
        detail={t.askDetail}
        submit={t.run}
        onConfirm={async () => {
          if (asking !== null) await start(asking.id)
        }}
      >
        <p className="mb-4">{asking?.summary}</p>
      </ConfirmDialog>
    </div>
  )
}

function ActionRow({
  action,
  project,
  busy,
  onRun,
}: {
  action: Action
  project: ProjectView
  busy: boolean
  onRun: () => void
}) {
  const may = useMay()
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
      <div className="min-w-0 flex-1 basis-40">
        <p className="flex flex-wrap items-center gap-x-2">
          <code className="font-medium break-words">{action.label}</code>
          {action.destructive && (
            <span className="rounded-full bg-warn-soft px-2 text-xs leading-5 text-warn">{t.destructive}</span>
          )}
        </p>
        <p className="text-sm break-words text-ink-2">{action.summary}</p>
        {!action.available && <p className="text-sm break-words text-warn">{action.reason ?? t.unavailable}</p>}
      </div>
      <div className="flex items-center gap-2">
        {action.lastRun !== null && (
          <Link
            to="/projects/$project/actions"
            params={{ project: project.slug }}
            search={{ run: action.lastRun }}
            className="rounded text-sm text-accent-ink hover:underline"
          >
            {t.lastRun}
            <span className="sr-only">: {action.label}</span>
          </Link>
        )}
        {may('operate') && (
          <Button
            icon={Play}
            size="sm"
            busy={busy}
            disabled={!action.available}
            reason={engineReason(project)}
            onClick={onRun}
          >
            {action.destructive ? t.runAsking : t.run}
            <span className="sr-only"> {action.label}</span>
          </Button>
        )}
      </div>
    </li>
  )
}

function ActionRun({ project, id }: { project: ProjectView; id: string }) {
  const { busy, start } = useStart(project)
  const actions = useQuery(actionsQuery(project.id)).data
  const [asking, setAsking] = useState(false)
  return (
    <RunPage
      project={project}
      id={id}
      list="actions"
      title={(run) => <code className="break-words">{run.label}</code>}
      sourceOf={(run) => actions?.find((action) => action.id === run.name)}
      busy={busy !== null}
      onAgain={(action) => (action.destructive ? setAsking(true) : void start(action.id).catch(toastProblem))}
    >
      {(run) => (
        <ConfirmDialog
          open={asking}
          onClose={() => setAsking(false)}
          title={t.askTitle(run.label)}
          detail={t.askDetail}
          submit={t.run}
          onConfirm={() => start(run.name)}
        />
      )}
    </RunPage>
  )
}
