import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ArrowLeft, KeyRound, Search } from 'lucide-react'
import { useState } from 'react'
import { type KeyText, keysQuery, type ServiceRef } from '../api/keys.ts'
import { Button } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Loaded } from '../components/loaded.tsx'
import { ScrollBox } from '../components/scroll-box.tsx'
import { formatCount } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { KeyDetails } from './browser/key-details.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.keys

/** The keys of a service at the left, the value of one beside them. */
export function KeysPage() {
  const project = useProject()
  const { service } = useParams({ from: '/app/projects/$project/services/$service/keys' })
  useTitle(project.name, t.title(service))
  const [pattern, setPattern] = useState('*')
  const [match, setMatch] = useState('*')
  const [chosen, setChosen] = useState<KeyText | null>(null)
  const ref = { project: project.id, service }
  return (
    <div className="flex w-full min-w-0 flex-col gap-3 px-4 py-4 sm:px-6">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Link
          to="/projects/$project/services"
          params={{ project: project.slug }}
          className="inline-flex items-center gap-1 text-sm text-ink-2 hover:text-ink"
        >
          <ArrowLeft aria-hidden className="size-3.5" />
          {texts.project.tabs.services}
        </Link>
        <h2 className="min-w-0 flex-1 truncate font-mono text-base font-semibold">{service}</h2>
      </div>
      <div className="flex min-w-0 flex-col gap-3 lg:flex-row lg:items-start">
        <section aria-label={t.list} className="min-w-0 rounded-lg border border-line bg-surface lg:w-96 lg:shrink-0">
          <Form
            className="flex items-center gap-2 border-b border-line p-2"
            onSubmit={() => setMatch(pattern.trim() === '' ? '*' : pattern.trim())}
          >
            <TextField
              label={t.pattern}
              hideLabel
              value={pattern}
              onChange={(event) => setPattern(event.target.value)}
              className="flex-1"
              mono
            />
            <Button type="submit" icon={Search}>
              {t.find}
            </Button>
          </Form>
          <Keys service={ref} match={match} chosen={chosen} onChoose={setChosen} />
        </section>
        <div className="min-w-0 flex-1">
          {chosen === null ? (
            <div className="rounded-lg border border-dashed border-line-strong/60">
              <EmptyState icon={KeyRound} title={t.chooseTitle} detail={t.chooseDetail} />
            </div>
          ) : (
            <KeyDetails key={shownKey(chosen)} service={ref} chosen={chosen} onDeleted={() => setChosen(null)} />
          )}
        </div>
      </div>
    </div>
  )
}

interface KeysProps {
  service: ServiceRef
  match: string
  chosen: KeyText | null
  onChoose: (key: KeyText) => void
}

function Keys({ service, match, chosen, onChoose }: KeysProps) {
  const query = useInfiniteQuery(keysQuery(service, match))
  return (
    <Loaded query={query} rows={6}>
      {({ pages }) => {
        // SCAN may name a key twice.
        const keys = [...new Map(pages.flatMap((page) => page.keys).map((one) => [shownKey(one.key), one])).entries()]
        return (
          <ScrollBox label={t.list} className="max-h-[60vh] overflow-y-auto p-1.5">
            {keys.length === 0 && (
              <p className="px-2 py-3 text-sm text-ink-2">{query.hasNextPage ? t.noneYet : t.none}</p>
            )}
            <ul>
              {keys.map(([shown, { key, type }]) => (
                <li key={shown}>
                  <button
                    type="button"
                    aria-current={chosen !== null && shownKey(chosen) === shown ? 'true' : undefined}
                    onClick={() => onChoose(key)}
                    className={cx(
                      'flex w-full min-w-0 items-center gap-2 rounded-md px-2 py-1 text-left text-sm',
                      chosen !== null && shownKey(chosen) === shown
                        ? 'bg-accent-soft text-accent-ink'
                        : 'text-ink hover:bg-hover',
                    )}
                  >
                    <span className="min-w-0 flex-1 truncate font-mono">{shown}</span>
                    <span className="text-xs text-ink-3">{type}</span>
                  </button>
                </li>
              ))}
            </ul>
            <div className="flex items-center gap-2 px-2 pt-2">
              {query.hasNextPage && (
                <Button size="sm" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                  {texts.common.more}
                </Button>
              )}
              <span className="numbers text-sm text-ink-3">{t.total(formatCount(pages.at(-1)?.total ?? 0))}</span>
            </div>
          </ScrollBox>
        )
      }}
    </Loaded>
  )
}

export function shownKey(key: KeyText): string {
  return typeof key === 'string' ? key : `[base64] ${key.base64}`
}
