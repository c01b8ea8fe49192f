import type { Terminal as TerminalRecord } from '@stackquay/contract'
import { FitAddon } from '@xterm/addon-fit'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { type ITheme, Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'react'
import { client } from '../api/client.ts'
import { cx } from '../components/class-names.ts'
import { writeClipboard } from '../components/copy-button.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { bytesOfKey, keyMeaning, type SoftKey, softKeys, withControl } from '../lib/terminal-keys.ts'
import { texts } from '../texts/index.ts'
import { colourReader, useThemeChange } from './theme-colours.ts'
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
    void drawnIn(element, stop.signal, {
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

interface Screen {
  connect(
    project: string,
    term: string,
    told: { onState: (state: FollowingState) => void; onEnd: (how: string) => void },
  ): Promise<void>
  show(): void
  recolour(): void
  setSpoken(spoken: boolean): void
  press(key: SoftKey): void
  paste(): Promise<void>
}

interface Hands {
  readonly spoken: boolean
  readonly describedBy: string
  readonly onLeave: () => void
  /** What was typed, changed by a key that is held on the screen. */
  readonly take: (data: string) => string
}

const fontSize = 13
const family = '"JetBrains Mono Variable"'
/** So many bytes are handed to the screen before its pace is waited for. */
const writeAhead = 512 * 1024
const encoder = new TextEncoder()

async function drawnIn(element: HTMLElement, signal: AbortSignal, hands: Hands): Promise<Screen | null> {
  // Cells are measured once, with the font that is there then.
  await document.fonts.load(`${fontSize}px ${family}`).catch(() => undefined)
  if (signal.aborted) return null
  const term = new Terminal({
    fontFamily: `${family}, ui-monospace, monospace`,
    fontSize,
    lineHeight: 1.2,
    scrollback: 10_000,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    minimumContrastRatio: 4.5,
    screenReaderMode: hands.spoken,
    theme: themeOf(element),
    // A program chooses text and target of these: nothing but web addresses, and in a tab that knows nothing of this one.
    linkHandler: { activate: (_, target) => openLink(target) },
  })
  const fit = new FitAddon()
  term.loadAddon(fit)
  term.loadAddon(new WebLinksAddon((_, target) => openLink(target)))
  term.open(element)
  term.textarea?.setAttribute('aria-label', t.input)
  term.textarea?.setAttribute('aria-describedby', hands.describedBy)

  let session: ReturnType<typeof client.followTerminal> | null = null
  /** Byte offsets: where the output before this connection ends, and up to where it is drawn. */
  let past = 0
  let drawn = 0
  let next: number | null = null
  let waiting = 0

  const send = (bytes: Uint8Array) => {
    if (session?.send(bytes) === false) term.write('\u0007')
  }
  const type = (data: string) => send(encoder.encode(data))
  const isFocused = () => term.textarea !== undefined && document.activeElement === term.textarea
  /**
   * A screen answers questions that programs print. Of those in the scrollback nobody waits for an answer any more, and
   * of several viewers only the one at work may give it: all others would type into the shell.
   */
  const speaks = () => drawn >= past && isFocused()
  keepSilent(term, () => !speaks())
  term.onData((data) => type(hands.take(data)))
  term.onBinary((data) => send(Uint8Array.from(data, (character) => character.charCodeAt(0))))
  term.onResize(({ cols, rows }) => session?.resize(cols, rows))
  term.attachCustomKeyEventHandler((event) => {
    const meaning = keyMeaning(event, term.hasSelection())
    if (meaning === 'terminal') return true
    if (event.type !== 'keydown' || meaning === 'paste') return false
    event.preventDefault()
    if (meaning === 'leave') hands.onLeave()
    else if (term.hasSelection()) {
      void writeClipboard(term.getSelection())
      term.clearSelection()
    }
    return false
  })

  const fitNow = () => {
    if (element.offsetParent !== null) fit.fit()
  }
  fitNow()
  const resize = new ResizeObserver(fitNow)
  resize.observe(element)
  term.textarea?.addEventListener('focus', fitNow)
  signal.addEventListener(
    'abort',
    () => {
      resize.disconnect()
      term.dispose()
    },
    { once: true },
  )
  const show = () => {
    fitNow()
    // A phone would open its keyboard over half of what one came to read.
    if (matchMedia('(pointer: fine)').matches) term.focus()
  }
  show()

  return {
    show,
    recolour: () => {
      term.options.theme = themeOf(element)
    },
    setSpoken: (spoken) => {
      term.options.screenReaderMode = spoken
    },
    press: (key) => type(bytesOfKey(key, term.modes.applicationCursorKeysMode)),
    paste: async () => {
      const text = await navigator.clipboard.readText().catch(() => '')
      term.focus()
      term.paste(text)
    },
    connect: async (project, id, told) => {
      session = client.followTerminal(project, id, {
        signal,
        cols: term.cols,
        rows: term.rows,
        onState: told.onState,
        onOutput: (bytes) => {
          waiting += bytes.length
          next = (next ?? 0) + bytes.length
          const written = new Promise<void>((resolve) =>
            term.write(bytes, () => {
              waiting -= bytes.length
              drawn += bytes.length
              resolve()
            }),
          )
          return waiting > writeAhead ? written : undefined
        },
        onFrame: (frame) => {
          if (frame.type === 'start') {
            // Not where the last connection ended: it was away for longer than is kept, and begins anew.
            if (next !== null && next !== frame.seq) term.reset()
            if (next !== frame.seq) drawn = frame.seq
            next = frame.seq
            past = frame.terminal.output.end
          }
          if (frame.type === 'gap') {
            term.reset()
            drawn = frame.seq
            next = frame.seq
          }
          if (frame.type === 'status' && !isFocused()) {
            const { cols, rows, viewers } = frame.terminal
            // Somebody else is at work in it: what programs draw has their size.
            if (viewers > 1 && (cols !== term.cols || rows !== term.rows)) term.resize(cols, rows)
          }
        },
      })
      const end = await session.ended
      if (end !== null) told.onEnd(t.ended(end.code, end.signal))
    },
  }
}

/** Takes the questions a program may put to its terminal out of what is drawn, whenever it is not ours to answer. */
function keepSilent({ parser }: Terminal, silent: () => boolean): void {
  const questions = [
    { final: 'c' },
    { prefix: '>', final: 'c' },
    { prefix: '=', final: 'c' },
    { final: 'n' },
    { prefix: '?', final: 'n' },
    { prefix: '>', final: 'q' },
    { intermediates: '$', final: 'p' },
    { prefix: '?', intermediates: '$', final: 'p' },
  ]
  for (const question of questions) parser.registerCsiHandler(question, silent)
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, silent)
  // Colours: the same sequence sets one, or with a question mark asks for it.
  for (const code of [4, 10, 11, 12]) parser.registerOscHandler(code, (data) => data.includes('?') && silent())
}

function openLink(target: string): void {
  if (/^https?:\/\//i.test(target)) window.open(target, '_blank', 'noopener,noreferrer')
}

/** The page's own tokens, so that both themes and all contrasts are those of the rest. */
function themeOf(element: HTMLElement): ITheme {
  const { colour, done } = colourReader(element)
  const theme: ITheme = {
    background: colour('--log-ground'),
    foreground: colour('--ink'),
    cursor: colour('--ink'),
    cursorAccent: colour('--log-ground'),
    selectionBackground: colour('--mark'),
    black: colour('--ink-3'),
    red: colour('--bad'),
    green: colour('--good'),
    yellow: colour('--warn'),
    blue: colour('--busy'),
    magenta: colour('--series-4'),
    cyan: colour('--series-3'),
    white: colour('--ink-2'),
    brightBlack: colour('--ink-3'),
    brightRed: colour('--bad'),
    brightGreen: colour('--good'),
    brightYellow: colour('--warn'),
    brightBlue: colour('--busy'),
    brightMagenta: colour('--series-4'),
    brightCyan: colour('--series-3'),
    brightWhite: colour('--ink'),
  }
  done()
  return theme
}
