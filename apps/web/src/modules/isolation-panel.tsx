import type { IsolationState } from '@stackquay/contract'
import { Panel } from '../components/panel.tsx'
import { texts } from '../texts/index.ts'
import { LevelBadge } from './isolation-badge.tsx'

const t = texts.isolation

/** The level, what holds on this machine, and what the code of one project can still do to another. */
export function IsolationPanel({ isolation }: { isolation: IsolationState }) {
  const { level, features, broken, notPrevented } = isolation
  return (
    <Panel title={t.title} detail={t.detail}>
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1.5">
        <h3 className="text-base font-medium">{t.levels[level]}</h3>
        <LevelBadge level={level} isBroken={broken !== null} />
        <ul aria-label={t.featuresLabel} className="flex flex-wrap gap-x-3 text-sm text-ink-2">
          {features.map((feature) => (
            <li key={feature}>{t.features[feature]}</li>
          ))}
        </ul>
      </div>
      {broken !== null && (
        <p className="mt-1.5 break-words text-bad">
          {t.broken} {broken}
        </p>
      )}
      {notPrevented.length === 0 ? (
        <p className="mt-1.5 text-ink-2">{t.nothing}</p>
      ) : (
        <>
          <h4 className="mt-2 text-sm font-medium">{t.notPrevented}</h4>
          <ul className="mt-0.5 list-disc pl-5 text-ink-2">
            {notPrevented.map((text) => (
              <li key={text} className="break-words">
                {text}
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  )
}
