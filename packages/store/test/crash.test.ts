import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStore } from '../src/index.ts'
import { child, keyText, tempStore, verifyAudit } from './temp-store.ts'

test('a process killed at random moments loses nothing it was told is written, and leaves nothing half written', async (t) => {
  const { store, file, options } = await tempStore(t)
  await store.close()
  const acknowledged: string[] = []
  for (let round = 0; round < 8; round += 1) {
    const writer = child(t, 'write-on.ts', file, options.sealingKey.id, keyText(options), `round${round}`)
    const { promise: began, resolve } = Promise.withResolvers<void>()
    writer.lines.on('line', (line) => {
      acknowledged.push(line)
      resolve()
    })
    await Promise.race([began, writer.ended])
    await new Promise((later) => setTimeout(later, Math.random() * 60))
    writer.kill()
    assert.equal((await writer.ended).signal, 'SIGKILL', writer.complaints())

    const opened = await openStore(options)
    try {
      assert.deepEqual(await opened.checkIntegrity(), [])
      const projects = await opened.projects.all()
      const slugs = projects.map((project) => project.slug)
      assert.deepEqual(
        acknowledged.filter((slug) => !slugs.includes(slug)),
        [],
      )
      // Project, secret, event and audit entry stand or fall together.
      const events = await opened.events.after(0, 100_000)
      assert.deepEqual(events.map((event) => event.data.slug).sort(), slugs.toSorted())
      assert.deepEqual(await verifyAudit(opened), { ok: true, entries: projects.length, firstBroken: null })
      const last = projects.at(-1)
      assert.ok(last)
      const secret = await opened.secrets.find(last.id, 'PASSWORD')
      assert.equal((await opened.secrets.reveal(secret?.secret ?? '')).expose(), last.slug)
    } finally {
      await opened.close()
    }
  }
  assert.ok(acknowledged.length >= 8)
})
