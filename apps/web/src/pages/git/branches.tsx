import type { GitBranch, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { actOnGit, gitBranchesQuery } from '../../api/git.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'

const t = texts.git

/** Branches, each to be checked out. */
export function Branches({ project }: { project: ProjectView }) {
  const may = useMay()
  const query = useQuery(gitBranchesQuery(project.id))
  const [wanted, setWanted] = useState<string | null>(null)
  return (
    <Panel title={t.branches} flush>
      <Loaded query={query} rows={3}>
        {({ items }) => (
          <ul className="divide-y divide-line">
            {items.map((branch) => (
              <li key={branch.name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
                <div className="min-w-0 flex-1 basis-40">
                  <p className="font-mono text-sm break-all">{branch.name}</p>
                  <p className="text-sm break-words text-ink-2">
                    <TimeAgo time={branch.at} /> · {branch.subject}
                  </p>
                </div>
                {branch.current ? (
                  <span className="text-sm text-ink-2">{t.current}</span>
                ) : (
                  may('operate') && (
                    <Button size="sm" aria-label={t.checkoutOne(branch.name)} onClick={() => setWanted(nameOf(branch))}>
                      {t.checkout}
                    </Button>
                  )
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <ConfirmDialog
        open={wanted !== null}
        onClose={() => setWanted(null)}
        title={t.checkoutTitle(wanted ?? '')}
        detail={t.checkoutDetail}
        submit={t.checkout}
        look="primary"
        onConfirm={async () => {
          await actOnGit(project.id, { act: 'checkoutGit', body: { branch: wanted ?? '' } })
          toastDone(t.checkedOut(wanted ?? ''))
        }}
      />
    </Panel>
  )
}

/** One of the other side is checked out under its own name. */
const nameOf = ({ name, remote }: GitBranch) => (remote ? name.replace(/^origin\//, '') : name)
