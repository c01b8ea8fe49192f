/** What a person asked of us and not of the program: to leave it running, or to end it. */
export type EscapeCommand = 'detach' | 'end'

export interface Typed {
  /** For the program. */
  readonly keys: Uint8Array
  readonly command: EscapeCommand | null
}

const escapeByte = 0x1d
const commands: ReadonlyMap<string, EscapeCommand> = new Map([
  ['d', 'detach'],
  ['.', 'detach'],
  ['k', 'end'],
])

/**
 * Ctrl-] and then `d` (or a full stop) leaves the terminal running, `k` ends it, a second Ctrl-] is one for the program.
 * Before any other key it is a key like all others. Not `~.`: that would end an ssh session around it instead.
 */
export function escapeKeys(): (typed: Uint8Array) => Typed {
  let escaping = false
  return (typed) => {
    const keys: number[] = []
    for (const byte of typed) {
      if (!escaping && byte === escapeByte) {
        escaping = true
        continue
      }
      if (!escaping) {
        keys.push(byte)
        continue
      }
      escaping = false
      const command = commands.get(String.fromCharCode(byte))
      if (command !== undefined) return { keys: Uint8Array.from(keys), command }
      keys.push(...(byte === escapeByte ? [escapeByte] : [escapeByte, byte]))
    }
    return { keys: Uint8Array.from(keys), command: null }
  }
}
