import type { GitPullManner, GitState, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { ArrowDownToLine, ArrowUpFromLine, GitBranch, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { actOnGit, type GitRequest, gitQuery, planPull } from '../api/git.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Facts } from '../components/facts.tsx'
import { Check, Segments } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { PlannedConfirm } from '../modules/planned-confirm.tsx'
import { useMay } from '../modules/use-may.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'
import { Branches } from './git/branches.tsx'
import { Changes } from './git/changes.tsx'
import { DeployPanel } from './git/deploy-panel.tsx'
import { Deploys } from './git/deploys.tsx'
import { Environments } from './git/environments.tsx'
import { History } from './git/history.tsx'
import { RemotePanel } from './git/remote-panel.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.git

/** The repository of a project. */
export function GitPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.git)
  const query = useQuery(gitQuery(project.id))
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <Loaded query={query} rows={4}>
        {(state) =>
          state.repository ? (
            <Repository project={project} state={state} />
          ) : (
            <>
              <PageHeader level={2} title={t.title} detail={t.detail} />
              <EmptyState icon={GitBranch} title={t.none} detail={state.reason ?? ''} />
            </>
          )
        }
      </Loaded>
    </div>
  )
}

/** What its last word is, as a notice; one that takes longer is among the operations. */
async function carryOut(project: string, request: GitRequest): Promise<void> {
  toastDone((await actOnGit(project, request)) ?? t.goesOn)
}

function Repository({ project, state }: { project: ProjectView; state: GitState }) {
  const may = useMay()
  return (
    <>
      <PageHeader
        level={2}
        title={t.title}
        detail={t.detail}
        actions={may('operate') && <Acts project={project} state={state} />}
      />
      <Panel>
        <Facts items={factsOf(state)} />
      </Panel>
      <Changes project={project} state={state} />
      <div className="grid gap-4 lg:grid-cols-2">
        <History project={project} />
        <Branches project={project} />
      </div>
      <Environments project={project} />
      <Deploys project={project} commit={state.commit} />
      {may('operate') && <DeployPanel project={project} />}
      {may('operate') && <RemotePanel project={project} state={state} />}
    </>
  )
}

function factsOf(state: GitState) {
  const { branch, commit, upstream, ahead, behind } = state
  const notes = [
    ...(state.doing === null ? [] : [t.underWay(state.doing)]),
    ...(state.stashed > 0 ? [t.stashed(state.stashed)] : []),
    ...(state.shallow ? [t.shallow] : []),
    ...(state.lfsFiles > 0 ? [t.lfs(state.lfsFiles)] : []),
    ...(state.submodules.length > 0 ? [t.submodules(state.submodules.join(', '))] : []),
  ]
  const distance =
    upstream === null || ahead === null || behind === null ? t.noUpstream : t.distance(upstream, ahead, behind)
  return [
    [
      t.branch,
      <span key="b" className="font-mono break-all">
        {branch ?? t.detached}
      </span>,
    ],
    [
      t.commit,
      <span key="c" className="font-mono">
        {commit?.slice(0, 10) ?? t.noCommit}
      </span>,
    ],
    [t.upstream, distance],
    [
      t.url,
      <span key="u" className="font-mono break-all">
        {state.url ?? t.noUrl}
      </span>,
    ],
    ...(notes.length === 0
      ? []
      : [
          [
            t.notes,
            <ul key="n">
              {notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>,
          ] as const,
        ]),
  ] as const
}

function Acts({ project, state }: { project: ProjectView; state: GitState }) {
  const [dialog, setDialog] = useState<'pull' | 'push' | null>(null)
  const [manner, setManner] = useState<GitPullManner>('fast-forward')
  const [force, setForce] = useState(false)
  const fetching = useSubmit()
  const reason = state.url === null ? t.noUrl : null
  const close = () => setDialog(null)
  return (
    <div className="flex flex-col items-end gap-2">
      <div className="flex flex-wrap gap-2">
        <Button
          icon={RefreshCw}
          reason={reason}
          busy={fetching.busy}
          onClick={() => void fetching.run(() => carryOut(project.id, { act: 'fetchGit' }))}
        >
          {t.fetch}
        </Button>
        <Button icon={ArrowUpFromLine} reason={reason} onClick={() => setDialog('push')}>
          {t.push}
        </Button>
        <Button look="primary" icon={ArrowDownToLine} reason={reason} onClick={() => setDialog('pull')}>
          {t.pull}
        </Button>
      </div>
      {fetching.error !== null && <ErrorNote error={fetching.error} />}
      <PlannedConfirm
        open={dialog === 'pull'}
        onClose={close}
        title={t.pullTitle}
        detail={t.pullDetail}
        name={['git', project.id, 'pull', state.commit ?? '', String(state.behind)]}
        ask={(signal) => planPull(project.id, signal)}
        submit={t.pullSubmit}
        look="primary"
        onConfirm={() => carryOut(project.id, { act: 'pullGit', body: { manner } })}
      >
        <div className="mb-4 flex flex-col gap-2">
          <Segments
            label={t.manner}
            value={manner}
            onChange={setManner}
            options={(['fast-forward', 'merge', 'reset'] as const).map((value) => ({ value, label: t.manners[value] }))}
          />
          <p className="text-sm text-ink-2">{t.mannerHelp[manner]}</p>
        </div>
      </PlannedConfirm>
      <ConfirmDialog
        open={dialog === 'push'}
        onClose={close}
        title={t.pushTitle(state.branch ?? '')}
        detail={t.pushDetail(state.ahead ?? 0)}
        submit={t.pushSubmit}
        look={force ? 'danger' : 'primary'}
        onConfirm={() => carryOut(project.id, { act: 'pushGit', body: force ? { force } : {} })}
      >
        <div className="mb-4">
          <Check label={t.force} help={t.forceHelp} checked={force} onChange={setForce} />
        </div>
      </ConfirmDialog>
    </div>
  )
}
