import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admin, openTestApp } from './app-support.ts'
import { recordOtlp, until } from './log-export-support.ts'

test('a receiver is set with the password, gets the lines of the chosen projects, and diagnostics and metrics tell of it', async (t) => {
  const { call, session, engine } = await openTestApp(t)
  const recorder = await recordOtlp(t)
  const headers = await session()
  const patch = (settings: object, password: string | undefined = admin.password) =>
    call('updateSettings', { headers, body: { settings, ...(password !== '' && { password }) } })
  const check = async () => {
    const { json } = await call('getDiagnostics', { headers })
    return json.checks.find(({ id }: { id: string }) => id === 'log-export')
  }
  const ids: string[] = []
  const workloads: string[] = []
  for (const name of ['Shop', 'Blog']) {
    const { json } = await call('createProject', {
      headers,
      query: { wait: '30' },
      body: { name, template: 'express', start: true },
    })
    ids.push(json.id)
    workloads.push(json.status.workloads[0].name)
  }
  assert.equal(await check(), undefined)

  for (const [settings, detail] of [
    [{ logExportUrl: 'logs.test:514' }, /must begin with otlp\+https/],
    [{ logExportUrl: 'https://ada:secret@logs.test/' }, /no user name and no password/],
    [{ logExportUrl: 'syslog+tcp://169.254.169.254:514' }, /belongs to the machine itself/],
    [{ logExportProjects: ['nothing'] }, /There is no project "nothing"/],
  ] as const) {
    const answer = await patch(settings)
    assert.deepEqual([answer.status, answer.json.code], [422, 'validation_failed'], answer.body)
    assert.match(answer.json.detail, detail)
    assert.doesNotMatch(answer.body, /secret/)
  }
  assert.equal((await patch({ logExportUrl: recorder.url }, '')).status, 422)

  assert.equal((await patch({ logExportUrl: recorder.url, logExportProjects: ['shop'] })).status, 200)
  const print = (at: number, text: string) => engine.print({ project: ids[at]!, workload: workloads[at]! }, text)
  print(1, 'of the other')
  print(0, 'WARN of this one')
  await until(() => recorder.texts.length === 1)
  assert.deepEqual([recorder.texts, recorder.faults], [['WARN of this one'], []])
  await until(() => recorder.requests.length === 1)
  let found = await check()
  for (const end = Date.now() + 3000; !/ 1 line was sent/.test(found.detail) && Date.now() < end; )
    found = await check()
  assert.equal(found.status, 'ok', found.detail)
  assert.match(found.detail, /^OTLP at 127\.0\.0\.1:\d+: 1 line was sent and 0 dropped .* none waits\.$/)
  const metrics = await call('getMetrics', { headers })
  assert.match(metrics.body, /^stackquay_log_export_lines_total 1$/m)
  assert.match(metrics.body, /^stackquay_log_export_dropped_total 0$/m)

  recorder.state.answer = { status: 401 }
  print(0, 'kept')
  await until(() => recorder.times.length >= 2)
  for (const end = Date.now() + 3000; found.status === 'ok' && Date.now() < end; ) found = await check()
  assert.equal(found.status, 'warning')
  assert.match(found.detail, /takes no lines: The receiver answered 401\. .* 1 waits, the oldest for \d+ s\.$/)

  assert.equal((await patch({ logExportUrl: null, logExportProjects: null })).status, 200)
  assert.equal(await check(), undefined)
})
