import { createDockerLogs } from '../src/docker/logs/index.ts'
import { openDaemon } from './docker-daemon.ts'

/** Collects what one container prints, until it is killed. Arguments: where Docker listens, home, container. */
const [host = '', home = '', container = ''] = process.argv.slice(2)
const logs = createDockerLogs(await openDaemon(host, home), { maxBytes: 1024 ** 3, maxDays: 14 })
await logs.adopt([{ ref: { project: 'logs', workload: 'printer' }, id: container }])
process.stdout.write('collecting\n')
setInterval(() => {}, 1000)
