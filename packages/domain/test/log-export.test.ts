import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutToBytes, type ExportLine, exportRetrySeconds, readLogExportUrl } from '../src/log-export.ts'
import { otlpLogs, partialSuccessOf } from '../src/otlp-logs.ts'
import { countedFrame, syslogMessage } from '../src/syslog.ts'

const line: ExportLine = {
  project: 'shop',
  workload: 'web',
  time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  stream: 'stdout',
  text: 'ERROR it broke',
}

test('addresses of receivers are read, and what is none is told why', () => {
  const targetOf = (text: string) => {
    const read = readLogExportUrl(text)
    return read.ok ? read.target : read.detail
  }
  const otlp = (url: string, host: string) => ({ kind: 'otlp', url, host })
  const syslog = (transport: string, host: string, port: number) => ({ kind: 'syslog', transport, host, port })
  assert.deepEqual(targetOf('otlp+https://logs.test:4318/v1/logs'), otlp('https://logs.test:4318/v1/logs', 'logs.test'))
  assert.deepEqual(targetOf('otlp+http://[::1]:4318'), otlp('http://[::1]:4318/v1/logs', '::1'))
  assert.deepEqual(targetOf('https://logs.test/otlp?a=b'), otlp('https://logs.test/otlp?a=b', 'logs.test'))
  assert.deepEqual(targetOf('syslog+tls://logs.test'), syslog('tls', 'logs.test', 6514))
  assert.deepEqual(targetOf('SYSLOG+TCP://Logs.test:80/'), syslog('tcp', 'logs.test', 80))
  assert.deepEqual(targetOf('syslog+udp://[fd00::1]:1514'), syslog('udp', 'fd00::1', 1514))
  // However an address is written, a check sees the usual form of it.
  assert.deepEqual(targetOf('syslog+udp://0xa9.254.43518'), syslog('udp', '169.254.169.254', 514))
  for (const text of ['', 'logs.test:514', 'syslog://logs.test', 'ftp://logs.test', 'otlp+https://', 'syslog+tcp://:1'])
    assert.match(String(targetOf(text)), /^must (begin with|name a host)/, text)
  assert.match(String(targetOf('https://ada:secret@logs.test/')), /^must hold no user name and no password/)
  assert.match(String(targetOf('https://logs.test/#x')), /^must have no part after #/)
  assert.match(String(targetOf('syslog+tcp://logs.test/path')), /^must end after the host/)
  assert.match(String(targetOf('syslog+tcp://logs.test:0')), /^must not name port 0/)
  assert.match(String(targetOf('syslog+tcp://logs.test:70000')), /^must name a host/)
})

test('OTLP has a resource for each workload, times as decimal texts and the severities of its data model', () => {
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  const levels = ['DEBUG a', 'INFO a', 'WARN a', 'ERROR a', 'a']
  const lines = [...levels.map((words) => ({ ...line, text: words })), { ...line, workload: 'db', text: 'half \ud800' }]
  const { resourceLogs } = otlpLogs(lines, 'host-1')
  assert.deepEqual(
    resourceLogs.map(({ resource }) => resource.attributes),
    ['web', 'db'].map((workload) => [
      text('service.name', workload),
      text('service.namespace', 'shop'),
      text('host.name', 'host-1'),
    ]),
  )
  const records = resourceLogs[0]?.scopeLogs[0]?.logRecords ?? []
  assert.deepEqual(
    records.map(({ severityNumber, severityText }) => [severityNumber, severityText]),
    [
      [5, 'DEBUG'],
      [9, 'INFO'],
      [13, 'WARN'],
      [17, 'ERROR'],
      [undefined, undefined],
    ],
  )
  assert.deepEqual(JSON.parse(JSON.stringify(records[4])), {
    timeUnixNano: '1767323045678000000',
    observedTimeUnixNano: '1767323045678000000',
    body: { stringValue: 'a' },
    attributes: [text('log.iostream', 'stdout')],
  })
  assert.equal(resourceLogs[1]?.scopeLogs[0]?.logRecords[0]?.body.stringValue, 'half \ufffd')
})

test('what an OTLP receiver left out is read from its answer, whatever that is', () => {
  const answer = { partialSuccess: { rejectedLogRecords: '3', errorMessage: 'too old' } }
  assert.deepEqual(partialSuccessOf(JSON.stringify(answer)), { rejected: 3, reason: 'too old' })
  for (const odd of [
    '',
    '{}',
    'null',
    '\u0012\u0000',
    '{"partialSuccess":null}',
    '{"partialSuccess":{"rejectedLogRecords":-1}}',
  ])
    assert.equal(partialSuccessOf(odd).rejected, 0, odd)
})

test('a syslog message is one line, and nothing in a text or a name leaves its place', () => {
  assert.equal(
    syslogMessage(line, 'host-1'),
    '<11>1 2026-01-02T03:04:05.678Z host-1 web - stdout [stackquay@32473 project="shop" workload="web"] ERROR it broke',
  )
  const hostile = { ...line, workload: 'w"]x\\', text: 'a\n<0>1 - - - - - - forged\t\u0000\u009b\u007f ü' }
  assert.equal(
    syslogMessage(hostile, 'a host\n'),
    '<14>1 2026-01-02T03:04:05.678Z a_host_ w"]x\\ - stdout [stackquay@32473 project="shop" workload="w\\"\\]x\\\\"] a#012<0>1 - - - - - - forged#011#000#233#177 ü',
  )
  assert.equal(countedFrame('aü'), '3 aü')
  const priorities = ['DEBUG a', 'INFO a', 'WARN a', 'ERROR a', 'a'].map(
    (text) => syslogMessage({ ...line, text }, 'h').split(' ')[0],
  )
  assert.deepEqual(priorities, ['<15>1', '<14>1', '<12>1', '<11>1', '<14>1'])
})

test('a long text is cut to bytes between characters', () => {
  for (const [text, most, cut] of [
    ['abc', 3, 'abc'],
    ['abcd', 3, 'abc'],
    ['aüü', 3, 'aü'],
    ['aüü', 4, 'aü'],
    ['😀😀', 7, '😀'],
    ['ü', 1, ''],
  ] as const)
    assert.equal(cutToBytes(text, most), cut)
  const sent = otlpLogs([{ ...line, text: 'ü'.repeat(40_000) }], 'h').resourceLogs[0]?.scopeLogs[0]?.logRecords[0]
  assert.equal(Buffer.byteLength(sent?.body.stringValue ?? ''), 65_536)
})

test('attempts are spread wider each time, and a receiver that asks for patience gets it', () => {
  assert.deepEqual(
    [1, 2, 3, 7, 100].map((failures) => exportRetrySeconds(failures, null, 0)),
    [1, 2, 4, 60, 60],
  )
  assert.equal(exportRetrySeconds(1, null, 1), 1.2)
  assert.equal(exportRetrySeconds(1, 90, 0), 90)
  assert.equal(exportRetrySeconds(3, 1, 0), 4)
  assert.equal(exportRetrySeconds(1, 1e9, 0), 3600)
})
