import type { TerminalStep } from '@stackquay/client'
import { FitAddon } from '@xterm/addon-fit'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { type ITheme, Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { client } from '../api/client.ts'
import { writeClipboard } from '../components/copy-button.tsx'
import { bytesOfKey, keyMeaning, type SoftKey } from '../lib/terminal-keys.ts'
import { texts } from '../texts/index.ts'
import { colourReader } from './theme-colours.ts'
import type { FollowingState } from './use-run.ts'

const t = texts.terminal

interface ConnectionEvents {
  readonly onState: (state: FollowingState) => void
  /** Takes how it ended, in words. */
  readonly onEnd: (how: string) => void
}

export interface Screen {
  connect(project: string, term: string, events: ConnectionEvents): Promise<void>
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

/** A screen in an element; null when the signal aborted first. */
export async function openScreen(element: HTMLElement, signal: AbortSignal, hands: Hands): Promise<Screen | null> {
  // Cells are measured once, with the font that is there then.
  await document.fonts.load(`${fontSize}px ${family}`).catch(() => undefined)
  if (signal.aborted) return null
  const term = createTerm(element, hands)
  const line = createLine(term, signal)
  const type = (data: string) => line.send(encoder.encode(data))
  /**
   * A screen answers questions that programs print. Those in the scrollback wait for no answer any more, and of several
   * viewers only the one at work may give it: all others would type into the shell.
   */
  keepSilent(term, () => !(line.isUpToDate() && isFocused(term)))
  term.onData((data) => type(hands.take(data)))
  term.onBinary((data) => line.send(Uint8Array.from(data, (character) => character.charCodeAt(0))))
  term.onResize(({ cols, rows }) => line.resize(cols, rows))
  handleKeys(term, hands.onLeave)
  const fit = keepFitted(term, element, signal)
  const show = () => {
    fit()
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
    connect: line.connect,
  }
}

function createTerm(element: HTMLElement, hands: Hands): Terminal {
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
  term.loadAddon(new WebLinksAddon((_, target) => openLink(target)))
  term.open(element)
  term.textarea?.setAttribute('aria-label', t.input)
  term.textarea?.setAttribute('aria-describedby', hands.describedBy)
  return term
}

function isFocused({ textarea }: Terminal): boolean {
  return textarea !== undefined && document.activeElement === textarea
}

function handleKeys(term: Terminal, onLeave: () => void): void {
  term.attachCustomKeyEventHandler((event) => {
    const meaning = keyMeaning(event, term.hasSelection())
    if (meaning === 'terminal') return true
    if (event.type !== 'keydown' || meaning === 'paste') return false
    event.preventDefault()
    if (meaning === 'leave') onLeave()
    else if (term.hasSelection()) {
      void writeClipboard(term.getSelection())
      term.clearSelection()
    }
    return false
  })
}

/** As many columns and rows as the element has room for, until the signal aborts. Answers the function that looks now. */
function keepFitted(term: Terminal, element: HTMLElement, signal: AbortSignal): () => void {
  const addon = new FitAddon()
  term.loadAddon(addon)
  const fit = () => {
    if (element.offsetParent !== null) addon.fit()
  }
  fit()
  const resize = new ResizeObserver(fit)
  resize.observe(element)
  term.textarea?.addEventListener('focus', fit)
  signal.addEventListener(
    'abort',
    () => {
      resize.disconnect()
      term.dispose()
    },
    { once: true },
  )
  return fit
}

/** What connects a screen with the terminal that runs elsewhere. */
function createLine(term: Terminal, signal: AbortSignal) {
  let session: ReturnType<typeof client.followTerminal> | null = null
  /** Byte offsets: where the output before this connection ends, and up to where it is drawn. */
  let past = 0
  let drawn = 0
  let next: number | null = null
  let waiting = 0

  const onOutput = (bytes: Uint8Array) => {
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
  }
  const onFrame = (frame: TerminalStep) => {
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
    if (frame.type === 'status' && !isFocused(term)) {
      const { cols, rows, viewers } = frame.terminal
      // Another viewer is at work in it: what programs draw has their size.
      if (viewers > 1 && (cols !== term.cols || rows !== term.rows)) term.resize(cols, rows)
    }
  }

  return {
    isUpToDate: () => drawn >= past,
    send(bytes: Uint8Array) {
      if (session?.send(bytes) === false) term.write('\u0007')
    },
    resize: (cols: number, rows: number) => session?.resize(cols, rows),
    connect: async (project: string, id: string, { onState, onEnd }: ConnectionEvents) => {
      const { cols, rows } = term
      session = client.followTerminal(project, id, { signal, cols, rows, onState, onOutput, onFrame })
      const end = await session.ended
      if (end !== null) onEnd(t.ended(end.code, end.signal))
    },
  }
}

/** Takes the questions a program may put to its terminal out of what is drawn, whenever another viewer has to answer. */
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
