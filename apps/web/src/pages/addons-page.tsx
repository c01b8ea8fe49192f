import type { Addon } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, Puzzle, Trash2, Upload } from 'lucide-react'
import { useState } from 'react'
import { addonsQuery } from '../api/addons.ts'
import { Button } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { engineName } from '../modules/engine-badge.tsx'
import { texts } from '../texts/index.ts'
import { type AddonAct, AddonDialogs } from './addons/addon-dialogs.tsx'
import { useTitle } from './use-title.ts'

const t = texts.addons

/** Services that administrators describe in files, with who uses them. */
export function AddonsPage() {
  useTitle(t.title)
  const query = useQuery(addonsQuery)
  const [act, setAct] = useState<AddonAct | null>(null)
  const add = (
    <Button icon={Plus} look="primary" onClick={() => setAct({ do: 'add' })}>
      {t.add}
    </Button>
  )
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} actions={query.data?.length === 0 ? undefined : add} />
      <Loaded query={query} rows={3}>
        {(addons) => (
          <Panel flush>
            {addons.length === 0 ? (
              <EmptyState icon={Puzzle} title={t.emptyTitle} detail={t.emptyDetail}>
                {add}
              </EmptyState>
            ) : (
              <ul aria-label={t.title} className="divide-y divide-line">
                {addons.map((addon) => (
                  <Item key={addon.name} addon={addon} onAct={(what) => setAct({ do: what, addon })} />
                ))}
              </ul>
            )}
          </Panel>
        )}
      </Loaded>
      <AddonDialogs act={act} addons={query.data ?? []} onClose={() => setAct(null)} />
    </div>
  )
}

function Item({ addon, onAct }: { addon: Addon; onAct: (what: 'replace' | 'remove') => void }) {
  const { name, title, description, homepage, versions, engines, updatedAt } = addon
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <h2 className="font-medium break-words">
          {title} <code className="font-normal text-ink-3">{name}</code>
        </h2>
        <p className="text-sm break-words text-ink-2">
          {description}
          {homepage !== null && (
            <>
              {' '}
              <ExternalLink href={homepage}>{homepage.replace(/^https?:\/\//, '')}</ExternalLink>
            </>
          )}
        </p>
        <p className="numbers text-sm break-words text-ink-3">
          {t.versions(versions.join(', '))} {t.runsOn(engines.map(engineName).join(', '))} · {t.changed}{' '}
          <TimeAgo time={updatedAt} />
        </p>
        <Users addon={addon} />
      </div>
      <div className="flex flex-wrap gap-1.5">
        <Button size="sm" icon={Upload} aria-label={t.replaceOne(title)} onClick={() => onAct('replace')}>
          {t.replace}
        </Button>
        <Button size="sm" icon={Trash2} aria-label={t.removeOne(title)} onClick={() => onAct('remove')}>
          {t.remove}
        </Button>
      </div>
    </li>
  )
}

function Users({ addon: { usedBy } }: { addon: Addon }) {
  if (usedBy.length === 0) return <p className="text-sm text-ink-3">{t.unused}</p>
  return (
    <p className="text-sm break-words text-ink-2">
      {t.usedBy}{' '}
      {usedBy.map(({ project, slug, enabled, hasData, outdated }, index) => {
        const state = t.use(enabled, hasData, outdated)
        return (
          <span key={project}>
            {index > 0 && ', '}
            <Link to="/projects/$project/services" params={{ project: slug }} className="text-ink underline">
              {slug}
            </Link>
            {state !== '' && ` (${state})`}
          </span>
        )
      })}
    </p>
  )
}
