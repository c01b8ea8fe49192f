import { Socket } from 'node:net'
import type { TerminalSize } from '@stackquay/engine-api/commands'
import { DESCRIPTORS } from './shim-spec.ts'

/** Reads on when the program took what came: until then the pipe fills, and the writer waits. */
export function takeKeys(write: (bytes: Buffer) => Promise<void>): void {
  const keys = new Socket({ fd: DESCRIPTORS.keys, readable: true, writable: false })
  keys.on('error', () => {})
  keys.on('data', (bytes: Buffer) => {
    keys.pause()
    void write(bytes).finally(() => keys.resume())
  })
}

/** Lines: `end`, or `resize <cols> <rows>`. */
export function takeControl(control: { end(): void; resize(size: TerminalSize): void }): void {
  const lines = new Socket({ fd: DESCRIPTORS.control, readable: true, writable: false })
  let begun = ''
  lines.on('error', () => {})
  lines.setEncoding('latin1').on('data', (text: string) => {
    const parts = (begun + text).split('\n')
    begun = parts.pop() ?? ''
    for (const part of parts) {
      const [word, cols, rows] = part.split(' ')
      if (word === 'end') control.end()
      if (word === 'resize') control.resize({ cols: Number(cols), rows: Number(rows) })
    }
  })
}
