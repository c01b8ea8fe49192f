import type { Scope } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Check, Minus, TriangleAlert } from 'lucide-react'
import { isolationQuery } from '../api/queries.ts'
import { cx } from '../components/class-names.ts'
import { includes, type PowerId, powersOf } from '../lib/token-powers.ts'
import { texts } from '../texts/index.ts'

const t = texts.tokens

/** What a token may do, in words. `projects` are names, or null for all. */
export function TokenPowers({ scope, projects }: { scope: Scope; projects: readonly string[] | null }) {
  const { may, mayNot } = powersOf(scope, projects !== null)
  return (
    <div aria-live="polite" className="flex flex-col gap-3 rounded-lg border border-line bg-sunken p-3 text-sm">
      <List title={t.may} powers={may} may />
      {mayNot.length > 0 && <List title={t.mayNot} powers={mayNot} />}
      <p className="text-ink-2">
        {projects === null ? t.extent.all : projects.length === 0 ? t.extent.none : t.extent.some(projects.join(', '))}{' '}
        {t.neverMay}
      </p>
      {projects !== null && includes(scope, 'operate') && <SharedWarning />}
    </div>
  )
}

/** Where all projects share a user, a list of projects limits the API and not the programs. */
function SharedWarning() {
  const { data: isolation } = useQuery(isolationQuery)
  if (isolation?.level !== 'shared') return null
  return (
    <div className="rounded-md bg-warn-soft p-2.5">
      <p className="flex items-start gap-2 font-medium">
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
        {t.sharedTitle}
      </p>
      <p className="mt-1">{t.sharedDetail}</p>
      <ul className="mt-1 list-disc pl-5">
        {isolation.notPrevented.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  )
}

function List({ title, powers, may = false }: { title: string; powers: readonly PowerId[]; may?: boolean }) {
  const Icon = may ? Check : Minus
  return (
    <div>
      <p className="mb-1 font-medium">{title}</p>
      <ul className={cx('flex flex-col gap-0.5', !may && 'text-ink-2')}>
        {powers.map((power) => (
          <li key={power} className="flex items-start gap-2">
            <Icon aria-hidden className={cx('mt-0.75 size-3.5 shrink-0', may ? 'text-good' : 'text-ink-3')} />
            {t.powers[power]}
          </li>
        ))}
      </ul>
    </div>
  )
}
