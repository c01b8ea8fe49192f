import type { TerminalSize } from '@stackquay/engine-api'

type Given = { readonly [Side in keyof TerminalSize]?: number | undefined }

/** A size that no schema looked at: what is out of bounds is taken as the bound. */
export function sizeWithin(size: TerminalSize): TerminalSize
export function sizeWithin(size: Given): Partial<TerminalSize>
export function sizeWithin({ cols, rows }: Given): Partial<TerminalSize> {
  return {
    ...(cols === undefined ? {} : { cols: Math.min(500, Math.max(2, cols)) }),
    ...(rows === undefined ? {} : { rows: Math.min(300, Math.max(1, rows)) }),
  }
}
