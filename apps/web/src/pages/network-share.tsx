import type { ProjectView, Share } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Share2, Square } from 'lucide-react'
import { useState } from 'react'
import { endShare, type ShareProvider, shareQuery } from '../api/network.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Facts } from '../components/facts.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { useNow } from '../components/use-now.ts'
import { formatCountdown } from '../lib/countdown.ts'
import { formatDateTime } from '../lib/format.ts'
import { QrCode } from '../modules/qr-code.tsx'
import { ShareForm } from '../modules/share-form.tsx'
import { ShareViewers } from '../modules/share-viewers.tsx'
import { ShareStatePill } from '../modules/state-pill.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'

const t = texts.network.share

export function NetworkShare({ project }: { project: ProjectView }) {
  const query = useQuery(shareQuery(project.id))
  const mayStart = useMay()('admin')
  if (query.isPending) return <SkeletonList rows={4} />
  if (query.data === undefined) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const { share, providers } = query.data
  if (share !== null) return <OpenShare key={share.id} project={project} share={share} providers={providers} />
  if (mayStart) return <ShareForm project={project} providers={providers} />
  return (
    <Panel title={t.title}>
      <EmptyState icon={Share2} title={t.none} detail={t.onlyAdmins} />
    </Panel>
  )
}

function OpenShare({
  project,
  share,
  providers,
}: {
  project: ProjectView
  share: Share
  providers: readonly ShareProvider[]
}) {
  const mayEnd = useMay()('operate')
  const { state, url } = share
  return (
    <>
      <Panel
        title={
          <span className="inline-flex items-center gap-2.5">
            {t.title}
            <ShareStatePill state={state} />
          </span>
        }
        actions={mayEnd && <EndButton project={project.id} />}
      >
        <div className="flex flex-wrap items-start gap-x-8 gap-y-5">
          {url !== null && state === 'open' && <QrCode text={url} label={t.qr(url)} />}
          <div className="flex min-w-0 flex-1 basis-72 flex-col gap-4">
            {state === 'connecting' && <p className="text-ink-2">{t.connecting}</p>}
            {state === 'failed' && (
              <div role="alert" className="rounded-lg border border-bad/30 bg-bad-soft px-3 py-2.5">
                <p className="font-medium">{t.failed}</p>
                <p className="break-words text-ink-2">{share.detail ?? t.failedUnknown}</p>
                <p className="mt-1 text-ink-2">{t.failedHint}</p>
              </div>
            )}
            {url !== null && state === 'open' && (
              <div className="flex min-w-0 items-center gap-1 text-base">
                <ExternalLink href={url} />
                <CopyButton text={url} label={t.copy} size="md" />
              </div>
            )}
            <Countdown share={share} />
            <Facts
              items={[
                [t.facts.shows, workloadTitle(project, share.workload)],
                [t.facts.password, share.hasPassword ? t.withPassword : t.withoutPassword],
                [t.facts.provider, providers.find(({ name }) => name === share.provider)?.label ?? share.provider],
                [
                  t.facts.by,
                  <span key="by">
                    {share.actor}, <TimeAgo time={share.createdAt} />
                  </span>,
                ],
                [
                  t.facts.viewers,
                  <span key="viewers" className="numbers">
                    {t.viewers(share.viewers)}
                  </span>,
                ],
              ]}
            />
          </div>
        </div>
      </Panel>
      <ShareViewers project={project.id} share={share.id} />
    </>
  )
}

function EndButton({ project }: { project: string }) {
  const queries = useQueryClient()
  const [busy, setBusy] = useState(false)
  const end = async () => {
    setBusy(true)
    try {
      await endShare(project)
      toastDone(t.ended)
    } catch (error) {
      toastProblem(error)
      await queries.invalidateQueries({ queryKey: shareQuery(project).queryKey })
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button icon={Square} look="danger" busy={busy} onClick={() => void end()}>
      {t.end}
    </Button>
  )
}

function Countdown({ share: { createdAt, expiresAt } }: { share: Share }) {
  const now = useNow()
  const whole = (Date.parse(expiresAt) - Date.parse(createdAt)) / 1000
  // The clocks of the service and of this browser may differ.
  const left = Math.min(whole, (Date.parse(expiresAt) - now) / 1000)
  if (left <= 0) return <p className="font-medium">{t.over}</p>
  return (
    <div className="flex flex-col gap-1.5">
      <p>
        <span className="text-ink-2">{t.endsIn} </span>
        <time
          role="timer"
          dateTime={expiresAt}
          title={formatDateTime(expiresAt)}
          className="numbers text-lg font-medium"
        >
          {formatCountdown(left)}
        </time>
      </p>
      <div aria-hidden className="h-1 max-w-80 overflow-hidden rounded-full bg-line">
        <div className="h-full rounded-full bg-accent" style={{ width: `${(left / whole) * 100}%` }} />
      </div>
    </div>
  )
}

function workloadTitle(project: ProjectView, workload: string | null): string {
  if (workload === null) return texts.network.front
  return project.status.workloads.find(({ name }) => name === workload)?.title ?? workload
}
