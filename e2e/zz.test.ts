import { test } from 'node:test'
import { startService } from './support/service.ts'
test('x', async () => {
  const service = await startService()
  try {
    await service.client.call('createProject', { body: { name: 'Shop', databases: { main: { type: 'postgresql' } }, redis: {} } as never, query: { wait: 100 } })
    for (const parts of [['settings'],['files'],['service:redis'],['database:main']]) {
    const made = await service.client.call('createBackup', { params: { id: 'shop' }, body: { parts } as never, query: { wait: 60 } }) as any
    console.log(parts, JSON.stringify(made.error ?? made.parts)) }
    console.log(service.output().slice(-3000))
  } finally { await service.close() }
})
