/** Writes one project, audit entry and event per transaction and says each committed slug, until it is killed or `count` is reached. */
import { openStore } from '../../src/index.ts'
import { auditEntry, newProject } from '../temp-store.ts'

const [file = '', keyId = '', key = '', name = '', count = 'Infinity'] = process.argv.slice(2)
const store = await openStore({
  file,
  sealingKey: { id: keyId, key: Buffer.from(key, 'hex') },
  clock: { now: () => new Date() },
})
for (let number = 0; number < Number(count); number += 1) {
  const slug = `${name}-${number}`
  await store.transaction(async (tx) => {
    const project = await tx.projects.insert(newProject(slug))
    await tx.secrets.put(project.id, 'PASSWORD', slug)
    await tx.events.append({ type: 'project.created', project: project.id, data: { slug } })
    await tx.audit.append(auditEntry({ action: 'project.create', target: slug, project: project.id }))
  })
  process.stdout.write(`${slug}\n`)
}
await store.close()
