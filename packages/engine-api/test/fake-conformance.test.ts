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
    commands: {
      count: (lines) => run('/fake/count', String(lines)),
      both: () => run('/fake/both'),
      signal: (name) => run('/fake/signal', name),
      stubborn: () => run('/fake/stubborn'),
      copy: () => run('/fake/copy'),
      bytes: (count) => run('/fake/bytes', String(count)),
      terminal: () => run('/fake/terminal'),
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
    keptTexts: async () => [
      ...[...machine.workloads.values()].map(({ workload }) => JSON.stringify(workload)),
      ...[...machine.commands.values()].map(({ spec }) => JSON.stringify(spec)),
    ],
    leftovers: async () => [
      ...[...machine.workloads.values()].flatMap(({ state, workload }) =>
        state === 'running' ? [workload.ref.workload] : [],
      ),
      ...[...machine.commands.values()].flatMap(({ state, spec }) => (state.state === 'running' ? [spec.ref.id] : [])),
    ],
    close: async () => {},
  }
})
