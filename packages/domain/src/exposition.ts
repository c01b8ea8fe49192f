/*
 * Metrics as text, in the two forms that Prometheus reads: OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/) and its
 * own format, version 0.0.4.
 */

export interface MetricFamily {
  /** Without the `_total` of a counter and the `_info` of facts. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'info'
  /** One sentence. */
  readonly help: string
  readonly samples: Iterable<MetricSample>
}

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export const expositionTypes = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  text: 'text/plain; version=0.0.4; charset=utf-8',
} as const
export type ExpositionFormat = keyof typeof expositionTypes

/** The one that a client prefers by its `Accept`; the text format for those that do not say. */
export function expositionFormat(accept: string | null): ExpositionFormat {
  const [open, text] = ['application/openmetrics-text', 'text/plain'].map((type) => qualityOf(accept ?? '', type))
  return (open ?? 0) > 0 && (open ?? 0) >= (text ?? 0) ? 'openmetrics' : 'text'
}

/** Of OpenMetrics only version 1 is spoken. */
function qualityOf(accept: string, type: string): number {
  const qualities = accept.split(',').map((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    if (name !== type) return 0
    const parameter = (key: string) => parameters.find((text) => text.startsWith(`${key}=`))?.slice(key.length + 1)
    const version = parameter('version')
    if (type !== 'text/plain' && version !== undefined && !/^"?[01]\./.test(version)) return 0
    const quality = Number(parameter('q') ?? 1)
    return Number.isNaN(quality) ? 0 : quality
  })
  return Math.max(0, ...qualities)
}

/** At the end of all. */
export const expositionEnd: Readonly<Record<ExpositionFormat, string>> = { openmetrics: '# EOF\n', text: '' }

/** One family, in pieces of some hundred lines. */
export function* printFamily(family: MetricFamily, format: ExpositionFormat): Generator<string> {
  const { type, help, samples } = family
  const suffix = type === 'counter' ? '_total' : type === 'info' ? '_info' : ''
  const name = family.name + suffix
  const shown = format === 'openmetrics' ? family.name : name
  const unit = /_(seconds|bytes)$/.exec(family.name)?.[1]
  let lines = `# HELP ${shown} ${escapeHelp(help, format)}\n`
  lines += `# TYPE ${shown} ${format === 'text' && type === 'info' ? 'gauge' : type}\n`
  if (format === 'openmetrics' && unit !== undefined) lines += `# UNIT ${shown} ${unit}\n`
  let count = 0
  for (const { labels, value } of samples) {
    lines += `${name}${labelsText(labels)} ${numberText(value)}\n`
    count += 1
    if (count % 500 !== 0) continue
    yield lines
    lines = ''
  }
  if (lines !== '') yield lines
}

function labelsText(labels: MetricSample['labels']): string {
  const pairs = Object.entries(labels)
  return pairs.length === 0 ? '' : `{${pairs.map(([name, value]) => `${name}="${escapeLabel(value)}"`).join(',')}}`
}

/** Names of people's making: nothing in them ends a label or a line. */
function escapeLabel(value: string): string {
  return value.toWellFormed().replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}

function escapeHelp(text: string, format: ExpositionFormat): string {
  const escaped = text.replace(/[\\\n]/g, (character) => (character === '\n' ? '\\n' : '\\\\'))
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}
