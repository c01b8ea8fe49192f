/**
 * Programs switch modes of the terminal on (the alternate screen, the mouse, bracketed paste) and off again when they end.
 * A viewer that leaves in the middle has to do it for them. Watches what passes, and answers what puts everything back.
 */
export function terminalModes(): { watch(bytes: Uint8Array): void; undo(): string } {
  const on = new Set<string>()
  let cut = ''
  return {
    watch(bytes) {
      // Nothing to learn from most output, and nothing begun before it.
      if (cut === '' && !bytes.includes(0x1b)) return
      const text = cut + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
      for (const [, modes, to] of text.matchAll(/\x1b\[\?([\d;]+)([hl])/g)) {
        for (const mode of modes!.split(';')) {
          if ((to === 'h') === onAtFirst.has(mode)) on.delete(mode)
          else on.add(mode)
        }
      }
      cut = /\x1b(?:\[(?:\?[\d;]{0,40})?)?$/.exec(text)?.[0] ?? ''
    },
    undo: () =>
      on.size === 0
        ? ''
        : `${[...on].map((mode) => `\x1b[?${mode}${onAtFirst.has(mode) ? 'h' : 'l'}`).join('')}\x1b[0m`,
  }
}

/** Line wrap and the cursor. */
const onAtFirst: ReadonlySet<string> = new Set(['7', '25'])
