import type { Terminal as TerminalRecord } from '@stackquay/contract'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'react'
import { cx } from '../components/class-names.ts'
import { ErrorState } from '../components/error-state.tsx'
import { type SoftKey, softKeys, withControl } from '../lib/terminal-keys.ts'
import { texts } from '../texts/index.ts'
import { openScreen, type Screen } from './terminal-screen.ts'
import { useThemeChange } from './theme-colours.ts'
import type { FollowingState } from './use-run.ts'

const t = texts.terminal

interface TerminalViewProps {
  project: string
  terminal: TerminalRecord
  /** In sight; others stay connected behind it. */
  active: boolean
  /** Speaks what is printed, for screen readers; it costs time with much output. */
  spoken: boolean
  /** The way out for the keyboard. */
  onLeave: () => void
  /** Id of the text that tells the way out. */
  describedBy: string
}

/** One terminal: drawn here, running elsewhere. It may be seen in several places at once, and outlives all of them. */
export function TerminalView({ project, terminal, active, spoken, onLeave, describedBy }: TerminalViewProps) {
  const box = useRef<HTMLDivElement>(null)
  const screen = useRef<Screen | null>(null)
  const [state, setState] = useState<FollowingState>('connecting')
  const [ended, setEnded] = useState<string | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [control, setControl] = useState(false)
  const [attempt, setAttempt] = useState(0)
  const theme = useThemeChange()
  const leave = useRef(onLeave)
  leave.current = onLeave
  const held = useRef(false)
  held.current = control

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new connection
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const stop = new AbortController()
    setError(null)
    setEnded(null)
    void openScreen(element, stop.signal, {
      spoken,
      describedBy,
      onLeave: () => leave.current(),
      take: (data) => {
        if (!held.current) return data
        setControl(false)
        return withControl(data)
      },
    }).then((made) => {
      if (made === null) return
      screen.current = made
      made
        .connect(project, terminal.id, { onState: setState, onEnd: setEnded })
        .catch((failure: unknown) => !stop.signal.aborted && setError(failure))
    })
    return () => {
      stop.abort()
      screen.current = null
    }
  }, [project, terminal.id, attempt])

  useEffect(() => screen.current?.setSpoken(spoken), [spoken])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new theme is what recolours it
  useEffect(() => screen.current?.recolour(), [theme])
  useEffect(() => {
    if (active) screen.current?.show()
  }, [active])

  const said = ended ?? (state === 'retrying' ? t.retrying : state === 'connecting' ? t.connecting : '')
  return (
    <div className={cx('relative min-h-0 flex-1 flex-col', active ? 'flex' : 'hidden')}>
      <p
        role="status"
        // Above the screen, not beside it: a lost connection must not change the size that programs draw for.
        className={cx(
          'pointer-events-none absolute top-2 right-4 z-10 max-w-[calc(100%-2rem)] text-sm',
          said !== '' && 'rounded-md border border-line bg-raised px-3 py-1 shadow-pop',
          ended === null ? 'text-warn' : 'text-ink-2',
        )}
      >
        {said}
      </p>
      {error !== null && <ErrorState error={error} onRetry={() => setAttempt((count) => count + 1)} />}
      <div className="min-h-0 flex-1 bg-log py-2 pl-3" data-own-keys>
        <div ref={box} className="size-full overflow-hidden" />
      </div>
      <SoftKeys
        control={control}
        onControl={() => setControl(!control)}
        onKey={(key) => screen.current?.press(key)}
        onPaste={() => void screen.current?.paste()}
      />
    </div>
  )
}

/** For screens without a keyboard. The buttons leave the focus where it is, or the keyboard on the screen would go away. */
function SoftKeys({
  control,
  onControl,
  onKey,
  onPaste,
}: {
  control: boolean
  onControl: () => void
  onKey: (key: SoftKey) => void
  onPaste: () => void
}) {
  const look = 'h-9 min-w-9 flex-auto shrink-0 rounded-md border border-line px-1.5 font-mono text-sm'
  return (
    <div
      role="toolbar"
      aria-label={t.softKeys}
      onPointerDown={(event) => event.preventDefault()}
      className="scroll-none hidden gap-1 overflow-x-auto border-t border-line bg-surface p-1.5 max-md:flex pointer-coarse:flex"
    >
      <button
        type="button"
        aria-pressed={control}
        onClick={onControl}
        className={cx(look, control ? 'bg-accent-soft text-accent-ink' : 'bg-raised')}
      >
        {t.control}
      </button>
      {softKeys.map((key) => (
        <button
          key={key}
          type="button"
          aria-label={t.keyNames[key]}
          onClick={() => onKey(key)}
          className={cx(look, 'bg-raised')}
        >
          {t.keys[key]}
        </button>
      ))}
      {navigator.clipboard?.readText !== undefined && (
        <button type="button" onClick={onPaste} className={cx(look, 'bg-raised')}>
          {t.paste}
        </button>
      )}
    </div>
  )
}
