import { startService } from './support/service.ts'
import { makeSourceRoot } from './support/source-root.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const root = await makeSourceRoot()
const service = await startService({ roots: root.path })
const { client } = service
try {
  const files = { 'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }), 'server.js': `require('http').createServer((q, a) => { let x=0; for(let i=0;i<5e6;i++)x+=i; a.statusCode=q.url==='/bad'?500:200; a.end('ok'+x) }).listen(process.env.PORT,'127.0.0.1')\n` }
  const made = await client.call('createProject', { body: { name: 'Shop "a\\b" <ü>', path: await root.folder('main', files), databases: { main: { type: 'postgresql' } } } as never, query: { wait: 170 } })
  console.log(made.operation?.state, (made as any).slug)
  const slug = (made as any).slug as string
  for (let i = 0; i < 50; i++) await service.get(slug, i % 10 === 0 ? '/bad' : '/')
  await delay(1500)
  for (const [name, accept] of [['text', '*/*'], ['om', 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5']]) {
    const r = await fetch(service.url + '/metrics', { headers: { authorization: `Bearer ${service.token}`, accept: accept! } })
    const text = await r.text()
    console.log(name, r.status, r.headers.get('content-type'), text.length)
    writeFileSync(`/tmp/metrics-${name}.txt`, text)
  }
  try { console.log(execFileSync('/tmp/promdl/x/usr/bin/promtool', ['check', 'metrics'], { input: (await (await fetch(service.url + '/metrics', { headers: { authorization: `Bearer ${service.token}` } })).text()) }).toString(), 'promtool ok') } catch (e) { console.log('promtool', String((e as any).stdout), String((e as any).stderr)) }
  console.log('anon', (await fetch(service.url + '/metrics')).status, (await fetch(service.url + '/api/v1/metrics')).status)
  const restricted = await service.newToken('read', [slug]); console.log('restricted', (await fetch(service.url + '/metrics', { headers: { authorization: `Bearer ${restricted}` } })).status)
  console.log('post', (await fetch(service.url + '/metrics', { method: 'POST', headers: { authorization: `Bearer ${service.token}` } })).status, 'head', (await fetch(service.url + '/metrics', { method: 'HEAD', headers: { authorization: `Bearer ${service.token}` } })).status)
  if (process.argv[2] === 'long') {
    writeFileSync('/tmp/prom.yml', `global:\n  scrape_interval: 2s\nscrape_configs:\n  - job_name: stackquay\n    authorization:\n      credentials: ${service.token}\n    static_configs:\n      - targets: ['${new URL(service.url).host}']\n`)
    console.log('URL', service.url, 'TOKEN', service.token, 'HOME', service.home)
    for (let m = 0; m < 14; m++) { await delay(10_000); for (let i = 0; i < 10; i++) await service.get(slug, '/') }
    const metrics = await client.call('getProjectMetrics', { params: { id: slug }, query: { range: '1h' } })
    console.log(JSON.stringify(metrics, (k, v) => Array.isArray(v) && v.length === 60 ? v.slice(-4) : v, 1))
    console.log(JSON.stringify((await client.call('getDiagnostics', {})).checks.find((c) => c.id === 'metrics')))
  }
  await client.call('deleteProject', { params: { id: slug }, query: { confirm: slug, data: 'delete', purge: true, wait: 60 } as never }).catch((e) => console.log(e.message))
  await delay(500)
} finally { await service.close(); await root.remove() }
