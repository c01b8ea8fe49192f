import { openStore } from '../../src/index.ts'

const [file = '', checkpointFile = '', from = '', next = ''] = process.argv.slice(2)
const store = await openStore({
  file,
  checkpointFile,
  sealingKey: { id: 'key_a', key: Buffer.from(from, 'hex') },
  clock: { now: () => new Date() },
})
console.log('ready')
await store.replaceKey({ id: 'key_b', key: Buffer.from(next, 'hex') }, async () => {})
console.log('done')
// Lives on until it is killed, as a service does.
setInterval(() => undefined, 1000)
