import { writeFileSync } from 'node:fs'
import { obtain } from '../src/index.ts'
import { dns01Over, Memory, optionsFor } from './lab.ts'

/*
 * Obtains a certificate by DNS-01 and writes down what is to be remembered, as a service would. Started by a test, which kills
 * it where the records are written and the authority has not been asked.
 */
const { memoryFile, server, dns, names } = JSON.parse(process.argv[2]!)
const memory = new Memory()
const write = () => writeFileSync(memoryFile, JSON.stringify({ ...memory, accountKey: memory.accountKey }))
const solver = dns01Over(dns)
const options = optionsFor(server, names, solver, memory)
await obtain({
  ...options,
  solver: {
    ...solver,
    ready: async () => {
      process.stdout.write('records are written\n')
      await new Promise((resolve) => setTimeout(resolve, 60_000))
    },
  },
  remember: async (order) => {
    memory.order = order
    write()
  },
  rememberAccount: async (url) => {
    memory.accountUrl = url
    write()
  },
})
