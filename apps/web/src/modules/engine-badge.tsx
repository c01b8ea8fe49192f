import { Container, Cpu, type LucideIcon } from 'lucide-react'
import { cx } from '../components/class-names.ts'
import { abilitiesOf } from '../lib/engines.ts'
import { texts } from '../texts/index.ts'

export function engineName(engine: string): string {
  return texts.engines.names[engine] ?? engine
}

export function engineIcon(engine: string): LucideIcon {
  return abilitiesOf(engine).images ? Container : Cpu
}

/** What a project runs on, small. */
export function EngineBadge({ engine, className }: { engine: string; className?: string }) {
  const Icon = engineIcon(engine)
  const name = engineName(engine)
  return (
    <span
      title={texts.engines.badge(name)}
      className={cx(
        'inline-flex h-5 shrink-0 items-center gap-1 rounded border border-line bg-sunken px-1.5 text-xs text-ink-2',
        className,
      )}
    >
      <Icon aria-hidden className="size-3 opacity-80" />
      <span className="sr-only">{texts.engines.badge('')}</span>
      {name}
    </span>
  )
}
