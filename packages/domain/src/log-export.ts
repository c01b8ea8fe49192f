/** A line as it leaves the instance. */
export interface ExportLine {
  /** The project’s slug. */
  readonly project: string
  readonly workload: string
  /** Milliseconds since 1970. */
  readonly time: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

/** Where lines go: an OTLP receiver over HTTP, or one of syslog. */
export type LogExportTarget =
  | { readonly kind: 'otlp'; readonly url: string; readonly host: string }
  | { readonly kind: 'syslog'; readonly transport: SyslogTransport; readonly host: string; readonly port: number }

export type SyslogTransport = 'tls' | 'tcp' | 'udp'

/** The ports of RFC 5425, RFC 6587 and RFC 5426. */
const syslogPorts: Readonly<Record<SyslogTransport, number>> = { tls: 6514, tcp: 601, udp: 514 }

export type ReadLogExportUrl =
  | { readonly ok: true; readonly target: LogExportTarget }
  | { readonly ok: false; readonly detail: string }

const refused = (detail: string): ReadLogExportUrl => ({ ok: false, detail })

/** Details begin with "must", as those of other settings do. */
export function readLogExportUrl(text: string): ReadLogExportUrl {
  const [, scheme = '', rest = ''] = /^([a-z+]+):\/\/(.*)$/is.exec(text.trim()) ?? []
  const [, otlp] = /^(?:otlp\+)?(https?)$/i.exec(scheme) ?? []
  const [, transport] = /^syslog\+(tls|tcp|udp)$/i.exec(scheme) ?? []
  if (otlp === undefined && transport === undefined)
    return refused(
      'must begin with otlp+https://, otlp+http://, https://, http://, syslog+tls://, syslog+tcp:// or syslog+udp://',
    )
  // Hosts are read as those of http everywhere, so that one is never written in a way that a check does not know.
  const url = URL.parse(`${otlp?.toLowerCase() ?? 'http'}://${rest}`)
  if (url === null || url.hostname === '') return refused('must name a host, and after a colon a port')
  if (url.username !== '' || url.password !== '')
    return refused(
      'must hold no user name and no password: they belong in the file of STACKQUAY_LOG_EXPORT_HEADERS_FILE',
    )
  if (url.hash !== '') return refused('must have no part after #')
  if (url.port === '0') return refused('must not name port 0')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (transport === undefined) {
    if (url.pathname === '/') url.pathname = '/v1/logs'
    return { ok: true, target: { kind: 'otlp', url: url.href, host } }
  }
  if (url.pathname !== '/' || url.search !== '') return refused('must end after the host and the port')
  const kind = transport.toLowerCase() as SyslogTransport
  // 80 is what http leaves out.
  const port = url.port !== '' ? Number(url.port) : /:80\/?$/.test(rest) ? 80 : syslogPorts[kind]
  return { ok: true, target: { kind: 'syslog', transport: kind, host, port } }
}

/** The beginning of a text in so many bytes of UTF-8, no character torn; text that is no Unicode is mended. */
export function cutToBytes(text: string, most: number): string {
  const whole = text.toWellFormed()
  // A UTF-16 unit is three bytes at most.
  if (whole.length * 3 <= most) return whole
  const bytes = new TextEncoder().encode(whole)
  if (bytes.length <= most) return whole
  let end = most
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return new TextDecoder().decode(bytes.subarray(0, end))
}

/** What is sent of one line at most. */
export const mostLineBytes = 64 * 1024

const firstSeconds = 1
const mostSeconds = 60
const mostPatienceSeconds = 3600

/**
 * How long it is waited after so many failures in a row: twice as long each time, up to a minute. A receiver that asks for patience
 * (`Retry-After`) gets it, up to an hour. `chance` (0 to 1) spreads those who failed together over a fifth of the time.
 */
export function exportRetrySeconds(failures: number, retryAfterSeconds: number | null, chance: number): number {
  const usual = Math.min(firstSeconds * 2 ** Math.min(failures - 1, 20), mostSeconds)
  return Math.max(usual, Math.min(retryAfterSeconds ?? 0, mostPatienceSeconds)) * (1 + chance / 5)
}
