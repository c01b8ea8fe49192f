import type { EngineState } from '@stackquay/contract'
import { Panel } from '../components/panel.tsx'
import { formatBytes } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { engineIcon, engineName } from './engine-badge.tsx'
import { EngineStatePill } from './state-pill.tsx'

const t = texts.diagnostics

/** What projects run on: its version or what is wrong with it, and what Stackquay has there. */
export function EnginesPanel({ engines }: { engines: readonly EngineState[] }) {
  return (
    <Panel title={t.engines} detail={t.enginesDetail} flush>
      <ul className="divide-y divide-line">
        {engines.map((engine) => (
          <Engine key={engine.id} engine={engine} />
        ))}
      </ul>
    </Panel>
  )
}

function Engine({ engine }: { engine: EngineState }) {
  const Icon = engineIcon(engine.id)
  return (
    <li className="flex items-start gap-3 px-4 py-3">
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <h3 className="text-base font-medium">{engineName(engine.id)}</h3>
          <EngineStatePill ready={engine.ready} needed={engine.usual || engine.projects > 0} />
          <span className="numbers text-sm text-ink-3">
            {t.projectsOn(engine.projects)}
            {engine.usual && ` · ${t.usual}`}
          </span>
        </div>
        <p className="mt-0.5 break-words text-ink-2">{engine.detail}</p>
        {engine.hint !== null && <p className="mt-0.5 break-words">{engine.hint}</p>}
        {engine.usage.length > 0 && (
          <ul
            aria-label={t.usageOf(engineName(engine.id))}
            className="numbers mt-1.5 flex flex-wrap gap-x-4 gap-y-1 text-sm"
          >
            {engine.usage.map(({ what, count, sizeBytes }) => (
              <li key={what} className="whitespace-nowrap">
                {t.usage[what](count)}
                {sizeBytes !== null && <span className="text-ink-3"> · {formatBytes(sizeBytes)}</span>}
              </li>
            ))}
          </ul>
        )}
      </div>
    </li>
  )
}
