import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import type { CommandOutput, CommandState } from '@stackquay/engine-api'

/** Whole lines of both streams, as far as they are kept, until the output ends. */
export async function* linesOf(output: AsyncIterable<readonly CommandOutput[]>): AsyncGenerator<string> {
  const begun = { stdout: '', stderr: '', terminal: '' }
  const decoders = { stdout: new StringDecoder(), stderr: new StringDecoder(), terminal: new StringDecoder() }
  for await (const chunks of output) {
    for (const { stream, bytes } of chunks) {
      const lines = (begun[stream] + decoders[stream].write(bytes)).split(/\r\n|\n|\r/)
      begun[stream] = lines.pop()!.slice(-longestLine)
      for (const line of lines) if (cleaned(line) !== '') yield cleaned(line)
    }
  }
  for (const line of Object.values(begun)) if (cleaned(line) !== '') yield cleaned(line)
}

/** Somebody else's text, shown to people: no control characters, and not much of it. */
function cleaned(line: string): string {
  return stripVTControlCharacters(line)
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, longestLine)
}

const longestLine = 4096

/** How the program of a share ended, for whoever made the share. `url` is the address that it told, `last` the last line that it wrote. */
export function endOf(state: CommandState | null, url: string | null, last: string): string {
  if (state === null || state.cause === 'lost') return 'Its program ended with the machine. Make a new share.'
  if (state.cause === 'cancelled' && url === null) return `It did not tell a public address in time.${saying(last)}`
  const { code = null, signal = null } = state.exit ?? {}
  const how = signal !== null ? ` by ${signal}` : code !== null ? ` with exit code ${code}` : ''
  return `Its program ended${how}.${saying(last)}`
}

function saying(last: string): string {
  return last === '' ? '' : ` It said: ${last.slice(0, 300)}`
}
