import { useQuery } from '@tanstack/react-query'
import { ShieldAlert, ShieldCheck } from 'lucide-react'
import { isolationQuery } from '../api/queries.ts'
import { cx } from '../components/class-names.ts'
import { abilitiesOf } from '../lib/engines.ts'
import { texts } from '../texts/index.ts'

const t = texts.isolation

/** How the programs of a project of the native engine are isolated; containers say nothing more than their engine. */
export function IsolationBadge({ engine }: { engine: string }) {
  const { data: isolation } = useQuery(isolationQuery)
  if (isolation == null || abilitiesOf(engine).images) return null
  return <LevelBadge level={isolation.level} isBroken={isolation.broken !== null} />
}

export function LevelBadge({ level, isBroken }: { level: keyof typeof t.levels; isBroken: boolean }) {
  const isWeak = level === 'shared' || isBroken
  const Icon = isWeak ? ShieldAlert : ShieldCheck
  return (
    <span
      title={t.label(t.levels[level])}
      className={cx(
        'inline-flex h-5 shrink-0 items-center gap-1 rounded border px-1.5 text-xs',
        isWeak ? 'border-transparent bg-warn-soft text-ink' : 'border-line bg-sunken text-ink-2',
      )}
    >
      <Icon aria-hidden className={cx('size-3', isWeak ? 'text-warn' : 'opacity-80')} />
      <span className="sr-only">{t.label('')}</span>
      {t.badges[level]}
    </span>
  )
}
