import { cutToBytes, type ExportLine, mostLineBytes } from './log-export.ts'
import { levelOf } from './log-level.ts'

/** "User-level messages" of RFC 5424, which is what programs of no other kind have. */
const facility = 1
/** By level; a line that tells none is information. */
const severities = { debug: 7, info: 6, warning: 4, error: 3 } as const

/** The enterprise number that RFC 5612 leaves to whoever has none of his own. */
const elementId = 'stackquay@32473'

/** One message of RFC 5424, which is one line: its text has no control characters. At most so many bytes are of the text. */
export function syslogMessage(line: ExportLine, hostName: string, mostTextBytes = mostLineBytes): string {
  const level = levelOf(line.text)
  const priority = facility * 8 + (level === null ? severities.info : severities[level])
  const time = new Date(line.time).toISOString()
  const data = `[${elementId} project="${parameter(line.project)}" workload="${parameter(line.workload)}"]`
  const header = [`<${priority}>1`, time, name(hostName, 255), name(line.workload, 48), '-', line.stream].join(' ')
  return `${header} ${data} ${cutToBytes(escaped(line.text), mostTextBytes)}`
}

/** Octet counting, RFC 6587 3.4.1 and RFC 5425 4.3: the receiver needs to look for no end. */
export function countedFrame(message: string): string {
  return `${new TextEncoder().encode(message).length} ${message}`
}

/** Printable ASCII without spaces, or the hyphen that stands for nothing. */
function name(text: string, most: number): string {
  const plain = text.replace(/[^!-~]/g, '_').slice(0, most)
  return plain === '' ? '-' : plain
}

function parameter(value: string): string {
  return escaped(value.toWellFormed()).replace(/["\\\]]/g, '\\$&')
}

/** As RFC 5424 (8.2) shows it, and receivers do by themselves: `#` and three octal digits. */
function escaped(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => `#${character.charCodeAt(0).toString(8).padStart(3, '0')}`)
}
