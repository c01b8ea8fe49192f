import { Clock, Download, Pause, Play, WrapText } from 'lucide-react'
import { useEffect, useState } from 'react'
import { runOutputPath } from '../api/runs.ts'
import { Button, iconButtonClass } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { Segments } from '../components/field.tsx'
import { Tip } from '../components/tip.tsx'
import { IconToggle } from '../components/toggle.tsx'
import { useStoredFlag } from '../components/use-stored.ts'
import { formatBytes } from '../lib/format.ts'
import type { LogEntry } from '../lib/log-buffer.ts'
import type { RunOutput } from '../lib/run-output.ts'
import { texts } from '../texts/index.ts'
import { DownloadLink } from './download-link.tsx'
import { LogViewer } from './log-viewer.tsx'
import type { FollowingState } from './use-run.ts'

const t = texts.runs
const noColours = {}
type Shown = 'all' | LogEntry['stream']

interface RunOutputViewProps {
  project: string
  run: string
  output: RunOutput
  state: FollowingState
  /** Bytes of output that the service no longer keeps. */
  missing: number
  over: boolean
  className?: string
}

/** What a run prints, as it comes. */
export function RunOutputView({ project, run, output, state, missing, over, className }: RunOutputViewProps) {
  const [following, setFollowing] = useState(true)
  const [shown, setShown] = useState<Shown>('all')
  const [wrap, setWrap] = useStoredFlag('stackquay.runs.wrap', true)
  const [times, setTimes] = useStoredFlag('stackquay.runs.times', false)
  const lines = shown === 'all' ? output.lines : output.lines.filter((line) => line.stream === shown)
  // A paused view of one stream is another list: it begins at its end again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the choice is what moves it
  useEffect(() => setFollowing(true), [shown])
  return (
    <section aria-label={t.output} className={cx('flex min-w-0 flex-col', className)}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5 border-b border-line px-4 py-2">
        <h2 className="text-base font-semibold max-sm:sr-only">{t.output}</h2>
        <Segments
          label={t.streams}
          value={shown}
          onChange={setShown}
          options={(['all', 'stdout', 'stderr'] as const).map((value) => ({ value, label: t.streamNames[value] }))}
        />
        <span className="ml-auto flex items-center gap-0.5">
          {!over && (
            <Button size="sm" icon={following ? Pause : Play} onClick={() => setFollowing(!following)}>
              {following ? texts.logs.pause : texts.logs.follow}
            </Button>
          )}
          <IconToggle icon={Clock} label={texts.logs.times} on={times} onChange={setTimes} />
          <IconToggle icon={WrapText} label={texts.logs.wrap} on={wrap} onChange={setWrap} />
          <Tip text={t.download}>
            <DownloadLink
              path={runOutputPath(project, run)}
              aria-label={t.download}
              className={iconButtonClass('ghost', 'sm')}
            >
              <Download aria-hidden className="size-4" />
            </DownloadLink>
          </Tip>
        </span>
      </div>
      {(missing > 0 || output.dropped > 0) && (
        <p className="border-b border-line bg-sunken px-4 py-1 text-sm text-ink-2">
          {missing > 0 ? t.missing(formatBytes(missing)) : texts.logs.dropped(output.dropped.toLocaleString())}
        </p>
      )}
      <div className="flex h-[clamp(16rem,55dvh,44rem)] flex-col rounded-b-lg bg-log">
        <LogViewer
          lines={lines}
          following={following}
          onFollowing={setFollowing}
          marks={null}
          wrap={wrap}
          times={times}
          colours={noColours}
          loading={state === 'connecting'}
          filtered={shown !== 'all' && output.lines.length > 0}
          words={{ region: t.output, empty: over ? t.printedNothing : t.nothingYet, emptyDetail: '' }}
        />
      </div>
      <p role="status" className={cx('text-sm text-warn', state === 'retrying' && 'border-t border-line px-4 py-1')}>
        {state === 'retrying' ? t.retrying : ''}
      </p>
    </section>
  )
}
