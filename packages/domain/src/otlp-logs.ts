import { cutToBytes, type ExportLine, mostLineBytes } from './log-export.ts'
import { levelOf } from './log-level.ts'

/*
 * The JSON form of OTLP 1: `ExportLogsServiceRequest` by the JSON mapping of Protocol Buffers, where 64-bit numbers are decimal texts
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
 */

interface KeyValue {
  readonly key: string
  readonly value: { readonly stringValue: string }
}

interface LogRecord {
  readonly timeUnixNano: string
  readonly observedTimeUnixNano: string
  /** Absent when the text tells no level. */
  readonly severityNumber?: number
  readonly severityText?: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly KeyValue[]
}

export interface OtlpLogs {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeLogs: readonly {
      readonly scope: { readonly name: string }
      readonly logRecords: readonly LogRecord[]
    }[]
  }[]
}

/** The first number of each range of the data model of logs. */
const severities = { debug: 5, info: 9, warning: 13, error: 17 } as const
const severityTexts = { debug: 'DEBUG', info: 'INFO', warning: 'WARN', error: 'ERROR' } as const

/** Lines of a workload stay in their order; each workload is a resource. */
export function otlpLogs(lines: readonly ExportLine[], hostName: string): OtlpLogs {
  const byWorkload = Map.groupBy(lines, ({ project, workload }) => `${project}/${workload}`)
  return {
    resourceLogs: [...byWorkload.values()].map((own) => {
      const { project, workload } = own[0]!
      const attributes = [
        text('service.name', workload),
        text('service.namespace', project),
        text('host.name', hostName),
      ]
      return { resource: { attributes }, scopeLogs: [{ scope: { name: 'stackquay' }, logRecords: own.map(recordOf) }] }
    }),
  }
}

function recordOf(line: ExportLine): LogRecord {
  const time = `${Math.trunc(line.time)}000000`
  const level = levelOf(line.text)
  return {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    ...(level === null ? {} : { severityNumber: severities[level], severityText: severityTexts[level] }),
    body: { stringValue: cutToBytes(line.text, mostLineBytes) },
    attributes: [text('log.iostream', line.stream)],
  }
}

function text(key: string, value: string): KeyValue {
  return { key, value: { stringValue: value.toWellFormed() } }
}

/** Of an answer with status 200: what the receiver left out of it, and why. */
export function partialSuccessOf(answer: string): { readonly rejected: number; readonly reason: string } {
  try {
    const { partialSuccess } = JSON.parse(answer) as {
      partialSuccess?: { rejectedLogRecords?: unknown; errorMessage?: unknown } | null
    }
    const rejected = Number(partialSuccess?.rejectedLogRecords ?? 0)
    const reason = String(partialSuccess?.errorMessage ?? '')
    return { rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0, reason: reason.slice(0, 200) }
  } catch {
    // Nothing, or protobuf: the status says that it was taken.
    return { rejected: 0, reason: '' }
  }
}
