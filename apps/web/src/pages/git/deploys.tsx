import type { Deploy, ProjectView, Release } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deploysQuery, planRollback, rollBack } from '../../api/deploys.ts'
import { Button } from '../../components/button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Facts } from '../../components/facts.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { PlannedConfirm } from '../../modules/planned-confirm.tsx'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.deploys

/** What was deployed, newest first, each a way back. `commit`: what is there now. */
export function Deploys({ project, commit }: { project: ProjectView; commit: string | null }) {
  const may = useMay()
  const query = useQuery(deploysQuery(project.id))
  const [wanted, setWanted] = useState<Deploy | null>(null)
  const short = wanted?.commit?.slice(0, 10) ?? ''
  return (
    <Panel title={t.list} flush>
      <Loaded query={query} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="px-4 py-3 text-sm text-ink-2">{t.noDeploys}</p>
          ) : (
            <ul className="divide-y divide-line">
              {items.map((deploy) => (
                <li key={deploy.id} className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-2">
                  <div className="min-w-0 flex-1 basis-60">
                    <p className="break-words">
                      <span className="font-mono">{deploy.commit?.slice(0, 10) ?? t.noCommit}</span> ·{' '}
                      {t.states[deploy.state]}
                      {deploy.rolledBack ? `, ${t.wentBack}` : ''}
                    </p>
                    <p className="text-sm break-words text-ink-2">
                      {t.triggers[deploy.trigger]} · {deploy.actor} · <TimeAgo time={deploy.createdAt} />
                    </p>
                    {deploy.reason !== null && <p className="text-sm break-words text-ink-2">{deploy.reason}</p>}
                    {deploy.reported !== null && deploy.reported !== '' && (
                      <p className="text-sm break-words text-ink-2">{t.notReported(deploy.reported)}</p>
                    )}
                    {deploy.release !== null && <ReleaseFacts commit={deploy.commit} release={deploy.release} />}
                  </div>
                  {may('operate') && deploy.state === 'succeeded' && deploy.commit !== commit && (
                    <Button
                      size="sm"
                      aria-label={t.goBackTo(deploy.commit?.slice(0, 10) ?? '')}
                      onClick={() => setWanted(deploy)}
                    >
                      {t.goBack}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <PlannedConfirm
        open={wanted !== null}
        onClose={() => setWanted(null)}
        name={['git', project.id, 'rollback', wanted?.id ?? '', commit ?? '']}
        ask={(signal) => planRollback(project.id, wanted?.id ?? '', signal)}
        title={t.goBackTitle(short)}
        detail={t.goBackDetail}
        submit={t.goBack}
        onConfirm={async () => {
          await rollBack(project.id, wanted?.id ?? '')
          toastDone(t.begun)
        }}
      />
    </Panel>
  )
}

/** What the commit was well with. */
function ReleaseFacts({ commit, release }: { commit: string | null; release: Release }) {
  const { generation, runtimes, images, installedFrom } = release
  const all = [
    [t.commit, <Value key="c" text={commit ?? t.noCommit} />] as const,
    [t.generation, generation] as const,
    ...namesOf(t.runtimes, runtimes),
    ...namesOf(t.images, images),
    ...namesOf(t.installedFrom, installedFrom),
  ]
  return (
    <div className="mt-1 text-sm">
      <Disclosure title={t.release}>
        <Facts items={all} />
      </Disclosure>
    </div>
  )
}

function namesOf(title: string, named: Readonly<Record<string, string>>) {
  const entries = Object.entries(named)
  if (entries.length === 0) return []
  const list = (
    <ul key={title} className="flex flex-col gap-1">
      {entries.map(([name, value]) => (
        <li key={name}>
          {name} <Value text={value} />
        </li>
      ))}
    </ul>
  )
  return [[title, list] as const]
}

function Value({ text }: { text: string }) {
  return <span className="font-mono break-all text-ink-2">{text}</span>
}
