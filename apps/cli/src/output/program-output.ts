import { logText } from './plain-text.ts'
import { writeAll } from './write-all.ts'

/**
 * Output of a program of a project, as it comes. A pipe or a file gets it as it is; a terminal gets its text and colours,
 * and nothing that could steer it. Answers a promise while the reader is slow.
 */
export function programOutput(stream: NodeJS.WriteStream, colours: boolean): (text: string) => void | Promise<void> {
  if (stream.isTTY !== true) return (text) => writeAll(stream, text)
  let begun = ''
  return (text) => {
    const whole = begun + text
    // A sequence that is cut between two pieces is shown, or taken away, with the second.
    begun = /\x1b(?:\[[0-9;:]{0,32})?$/.exec(whole)?.[0] ?? ''
    const lines = whole.slice(0, whole.length - begun.length).split('\n')
    return writeAll(stream, lines.map((line) => visible(line, colours)).join('\n'))
  }
}

/** A progress bar goes back to the begin of its line, which is harmless. */
function visible(line: string, colours: boolean): string {
  return line
    .split('\r')
    .map((part) => logText(part, colours))
    .join('\r')
}
