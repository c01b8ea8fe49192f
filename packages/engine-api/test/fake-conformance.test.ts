import { engineConformance, type Harness } from '../src/conformance.ts'
import { createFakeEngine } from '../src/fake-engine.ts'
import { createFakeMachine } from '../src/fake-machine.ts'
import type { ProcessRun } from '../src/workload.ts'

engineConformance('fake', async (): Promise<Harness> => {
  const machine = createFakeMachine()
  const engines = new Set<ReturnType<typeof createFakeEngine>>()
  let port = 20_000
  const run = (...argv: [string, ...string[]]): ProcessRun => ({ kind: 'process', argv, cwd: '/fake' })
  return {
    directory: '/fake',
    programs: {
      serve: () => run('/fake/serve'),
      exit: (code, lines) => run('/fake/exit', String(code), ...lines),
      hang: () => run('/fake/hang'),
      print: (variable) => run('/fake/print', variable),
      neverListen: () => run('/fake/never-listen'),
      missing: () => run('/fake/missing'),
    },
    async open() {
      const engine = createFakeEngine({ machine })
      engines.add(engine)
      return engine
    },
    freePort: async () => port++,
    async addFile(path) {
      for (const engine of engines) engine.addFile(path)
    },
    async holdPort(held) {
      machine.foreignPorts.set(held, { pid: 812, program: 'postgres' })
      return { pid: 812, program: 'postgres', release: async () => void machine.foreignPorts.delete(held) }
    },
    keptTexts: async () => [...machine.workloads.values()].map(({ workload }) => JSON.stringify(workload)),
    leftovers: async () =>
      [...machine.workloads.values()].flatMap(({ state, workload }) =>
        state === 'running' ? [workload.ref.workload] : [],
      ),
    close: async () => {},
  }
})
