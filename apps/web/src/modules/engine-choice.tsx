import type { EngineName, EngineState } from '@stackquay/contract'
import { cx } from '../components/class-names.ts'
import { Panel } from '../components/panel.tsx'
import { tileChosen, tileClass, tileInput, tileOther } from '../components/tile.ts'
import { isEngine } from '../lib/engines.ts'
import { texts } from '../texts/index.ts'
import { engineIcon, engineName } from './engine-badge.tsx'

const t = texts.engines

interface EngineChoiceProps {
  engines: readonly EngineState[]
  /** Null for the default. */
  chosen: EngineName | null
  onChoose: (engine: EngineName | null) => void
  error: string | null
}

/** What a new project runs on; shown where there is a choice, the default first. */
export function EngineChoice({ engines, chosen, onChoose, error }: EngineChoiceProps) {
  const choices = engines.flatMap((engine) => (isEngine(engine.id) ? [{ ...engine, id: engine.id }] : []))
  if (choices.length < 2) return null
  return (
    <Panel title={t.choose} detail={t.chooseHelp}>
      {error !== null && <p className="mb-2 text-sm text-bad">{error}</p>}
      <fieldset className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        <legend className="sr-only">{t.choose}</legend>
        {choices.map((engine) => {
          const Icon = engineIcon(engine.id)
          const checked = chosen === null ? engine.usual : chosen === engine.id
          return (
            <label key={engine.id} className={cx(tileClass, 'items-start gap-3 p-3', checked ? tileChosen : tileOther)}>
              <input
                type="radio"
                name="engine"
                checked={checked}
                disabled={!engine.ready && !checked}
                onChange={() => onChoose(engine.usual ? null : engine.id)}
                className={tileInput}
              />
              <Icon aria-hidden className={cx('mt-0.5 size-4 shrink-0', checked ? 'text-accent-ink' : 'text-ink-3')} />
              <span className="min-w-0">
                <span className="block font-medium">{engineName(engine.id)}</span>
                <span className="block text-sm break-words text-ink-2">
                  {t.about[engine.id]}
                  {engine.usual && ` ${t.usual}`}
                </span>
                {!engine.ready && <span className="block text-sm break-words text-warn">{engine.detail}</span>}
              </span>
            </label>
          )
        })}
      </fieldset>
    </Panel>
  )
}
