/** Keys that phones lack, as the bytes a terminal sends for them. */
export const softKeys = ['escape', 'tab', 'left', 'up', 'down', 'right'] as const
export type SoftKey = (typeof softKeys)[number]

/** Arrows have a second form, which programs such as editors switch on. */
export function bytesOfKey(key: SoftKey, applicationCursor: boolean): string {
  const arrows = { left: 'D', up: 'A', down: 'B', right: 'C' } as const
  if (key === 'escape') return '\u001b'
  if (key === 'tab') return '\t'
  return `\u001b${applicationCursor ? 'O' : '['}${arrows[key]}`
}

/** What a key means while Ctrl is held: `c` is 3, `[` is Escape. Other text stays as it is. */
export function withControl(text: string): string {
  const [first, ...rest] = text
  if (first === undefined) return text
  const code = first.toUpperCase().codePointAt(0)!
  if (first === ' ') return `\u0000${rest.join('')}`
  return code >= 0x40 && code <= 0x5f ? String.fromCodePoint(code - 0x40) + rest.join('') : text
}

export interface KeyPress {
  readonly type: string
  readonly key: string
  readonly ctrlKey: boolean
  readonly shiftKey: boolean
  readonly altKey: boolean
  readonly metaKey: boolean
}

/**
 * Whose a key is. `leave`: out of the terminal, because Tab belongs to the program in it (WCAG 2.1.2). Ctrl-C copies while
 * something is selected, Ctrl-V pastes, as everywhere else in a browser; with nothing selected Ctrl-C interrupts.
 */
export function keyMeaning(press: KeyPress, hasSelection: boolean): 'terminal' | 'leave' | 'copy' | 'paste' {
  const { key, ctrlKey, shiftKey, altKey, metaKey } = press
  if (!ctrlKey || altKey || metaKey) return 'terminal'
  if (key === 'F6') return 'leave'
  if (key.toLowerCase() === 'v') return 'paste'
  if (key.toLowerCase() === 'c' && (hasSelection || shiftKey)) return 'copy'
  return 'terminal'
}
