import { useQuery } from '@tanstack/react-query'
import { LoaderCircle, ShieldAlert, ShieldCheck } from 'lucide-react'
import { auditVerificationQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { texts } from '../texts/index.ts'

const t = texts.activity

/** Whether the audit log is as it was written. Verified once when it is opened, for it reads the whole log; then by hand. */
export function ChainState() {
  const query = useQuery(auditVerificationQuery)
  const again = (
    <Button size="sm" busy={query.isFetching} onClick={() => void query.refetch()}>
      {t.verifyAgain}
    </Button>
  )
  return (
    <section
      aria-label={t.chain}
      role="status"
      className="numbers min-h-8 min-w-0 flex-1 basis-72 content-center text-sm"
    >
      {query.isError ? (
        <div className="flex flex-col items-start gap-2">
          <ErrorNote error={query.error} />
          {again}
        </div>
      ) : query.data === undefined ? (
        <p className="flex items-center gap-2 text-ink-2">
          <LoaderCircle aria-hidden className="size-4 animate-turn" />
          {t.chainChecking}
        </p>
      ) : query.data.ok ? (
        <div className="flex items-center gap-2">
          <ShieldCheck aria-hidden className="size-4 shrink-0 text-good" />
          <p className="min-w-0 text-ink-2">
            <span className="font-medium text-good">{t.chainOk(query.data.entries.toLocaleString())}</span>{' '}
            <TimeAgo time={query.data.checkedAt} />
            {query.data.checkpoint !== null && <>; {t.chainCheckpoint(query.data.checkpoint.seq.toLocaleString())}</>}
          </p>
          {again}
        </div>
      ) : (
        <div className="flex gap-2.5 rounded-lg border border-bad/30 bg-bad-soft px-3 py-2.5 text-base">
          <ShieldAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
          <div className="flex min-w-0 flex-1 flex-col items-start gap-1.5">
            <div>
              <p className="font-medium">
                {query.data.firstBroken === null ? t.chainBrokenUnknown : t.chainBroken(query.data.firstBroken)}
              </p>
              {query.data.reason !== null && <p className="break-words text-ink-2">{query.data.reason}</p>}
              <p className="text-ink-2">{t.chainBrokenHelp}</p>
            </div>
            {again}
          </div>
        </div>
      )}
    </section>
  )
}
