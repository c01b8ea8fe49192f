import type { Deploy, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deploysQuery, rollBack } from '../../api/deploys.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
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
                <li key={deploy.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
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
      <ConfirmDialog
        open={wanted !== null}
        onClose={() => setWanted(null)}
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
