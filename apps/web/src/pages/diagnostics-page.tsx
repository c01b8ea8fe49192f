import type { DiagnosticCheck } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { diagnosticsQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { EnginesPanel } from '../modules/engines-panel.tsx'
import { IsolationPanel } from '../modules/isolation-panel.tsx'
import { OrphansPanel } from '../modules/orphans-panel.tsx'
import { CheckStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.diagnostics
const categories = Object.keys(t.categories) as DiagnosticCheck['category'][]
const severity = { error: 0, warning: 1, info: 2, ok: 3 } as const

export function DiagnosticsPage() {
  useTitle(t.title)
  const query = useQuery(diagnosticsQuery)
  return (
    <div className="flex w-full max-w-5xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          <Button icon={RefreshCw} busy={query.isFetching} onClick={() => void query.refetch()}>
            {query.isFetching ? t.checking : t.again}
          </Button>
        }
      />
      <Loaded query={query} rows={6} height="h-9">
        {(data) => (
          <>
            <p role="status" className="flex flex-wrap items-center gap-2.5">
              <CheckStatePill status={data.status} />
              <span className="font-medium">{t.summary[data.status]}</span>
              <span className="numbers text-ink-3">{t.version(data.version)}</span>
            </p>
            <IsolationPanel isolation={data.isolation} />
            <EnginesPanel engines={data.engines} />
            <OrphansPanel orphans={data.orphans} />
            {categories.map((category) => (
              <Category
                key={category}
                title={t.categories[category]}
                checks={data.checks.filter((check) => check.category === category)}
              />
            ))}
          </>
        )}
      </Loaded>
    </div>
  )
}

function Category({ title, checks }: { title: string; checks: readonly DiagnosticCheck[] }) {
  if (checks.length === 0) return null
  return (
    <Panel title={title} flush>
      <ul className="divide-y divide-line">
        {[...checks]
          .sort((one, other) => severity[one.status] - severity[other.status])
          .map((check) => (
            <li key={check.id} className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 px-4 py-2.5">
              <span>
                <CheckStatePill status={check.status} />
              </span>
              <div className="min-w-0">
                <h3 className="text-base font-medium">{check.title}</h3>
                <p className="break-words text-ink-2">{check.detail}</p>
                {check.hint !== null && <p className="mt-0.5 break-words">{check.hint}</p>}
                {check.fix !== null && (
                  <CodeBlock code={check.fix} label={`${t.fix}: ${check.title}`} className="mt-2 max-w-2xl" />
                )}
              </div>
            </li>
          ))}
      </ul>
    </Panel>
  )
}
