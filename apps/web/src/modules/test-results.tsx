import type { Run, TestCase } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { type Outcome, outcomes, testCasesQuery } from '../api/runs.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Segments } from '../components/field.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { ScrollBox } from '../components/scroll-box.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { plainText } from '../lib/ansi.ts'
import { formatElapsed } from '../lib/format.ts'
import { placeOf } from '../lib/runs.ts'
import { texts } from '../texts/index.ts'
import { TestOutcomeIcon } from './state-pill.tsx'

const t = texts.tests

/** What a test run found: how many, and each test by its outcome; failed ones first. */
export function TestResults({ project, run }: { project: string; run: Run }) {
  const counts = run.tests
  const [chosen, setChosen] = useState<Outcome | 'all' | null>(null)
  if (counts === null) return null
  const shown = chosen ?? (counts.failed > 0 ? 'failed' : 'all')
  return (
    <Panel
      title={t.results}
      detail={t.summary(counts)}
      flush
      actions={
        <div className="scroll-none max-w-full overflow-x-auto">
          <Segments
            label={t.show}
            value={shown}
            onChange={setChosen}
            options={[
              { value: 'all' as const, label: <Count label={t.all} count={counts.total} /> },
              ...outcomes
                .filter((outcome) => counts[outcome] > 0)
                .map((value) => ({ value, label: <Count label={t.outcomes[value]} count={counts[value]} /> })),
            ]}
          />
        </div>
      }
    >
      <Cases key={shown} project={project} run={run.id} outcome={shown === 'all' ? null : shown} />
    </Panel>
  )
}

function Count({ label, count }: { label: string; count: number }) {
  return (
    <>
      {label} <span className="numbers text-ink-2">{count.toLocaleString()}</span>
    </>
  )
}

function Cases({ project, run, outcome }: { project: string; run: string; outcome: Outcome | null }) {
  const query = useInfiniteQuery(testCasesQuery(project, run, outcome))
  if (query.isPending) return <SkeletonList rows={3} height="h-9" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const cases = query.data.pages.flatMap((page) => page.items)
  return (
    <>
      {cases.length === 0 && <p className="p-4 text-ink-2">{t.none}</p>}
      <ul aria-label={t.results} className="divide-y divide-line">
        {cases.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: tests may have the same name; their order does not change
          <Case key={index} item={item} />
        ))}
      </ul>
      <MoreButton query={query} />
    </>
  )
}

function Case({ item }: { item: TestCase }) {
  const [open, setOpen] = useState(false)
  const place = placeOf(item)
  return (
    <li className="flex gap-2.5 px-4 py-2">
      <span className="mt-1">
        <TestOutcomeIcon outcome={item.outcome} />
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <span className="min-w-0 break-words">
            {item.group !== null && <span className="text-ink-2">{item.group} › </span>}
            <span className="font-medium">{item.name}</span>
          </span>
          {item.flaky && (
            <span title={t.flakyHelp} className="rounded-full bg-warn-soft px-2 text-xs leading-5 text-warn">
              {t.flaky}
            </span>
          )}
          {item.durationSeconds !== null && (
            <span className="numbers ml-auto text-sm text-ink-3">{formatElapsed(item.durationSeconds * 1000)}</span>
          )}
        </p>
        {place !== null && (
          <p className="flex items-center gap-1 text-sm text-ink-2">
            <code className="min-w-0 break-all">{place}</code>
            {item.outcome === 'failed' && <CopyButton text={place} label={t.copyPlace} />}
          </p>
        )}
        {item.message !== null && (
          <p className="mt-0.5 font-mono text-sm break-words whitespace-pre-wrap text-bad">{plainText(item.message)}</p>
        )}
        {item.details !== null && (
          <>
            <button
              type="button"
              aria-expanded={open}
              onClick={() => setOpen(!open)}
              className="mt-1 inline-flex h-6 items-center gap-1 rounded pr-1.5 text-sm text-ink-2 hover:text-ink"
            >
              <ChevronRight aria-hidden className={open ? 'size-3.5 rotate-90' : 'size-3.5'} />
              {t.details}
              <span className="sr-only">: {item.name}</span>
            </button>
            {open && (
              <ScrollBox
                label={`${t.details}: ${item.name}`}
                className="mt-1 max-h-96 overflow-auto rounded-md border border-line bg-log"
              >
                <pre className="w-max min-w-full px-3 py-2 text-xs leading-5">{plainText(item.details)}</pre>
              </ScrollBox>
            )}
          </>
        )}
      </div>
    </li>
  )
}
