import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { ProcessRun } from '@stackquay/engine-api'
import type { Harness } from '@stackquay/engine-api/conformance'

/** How a machine runs a program, a source in JavaScript, and a line of shell. */
export interface Runners {
  run(argv: readonly [string, ...string[]]): ProcessRun
  script(source: string): ProcessRun
  shell(source: string): ProcessRun
  /** What a server listens on behind `listen(process.env.PORT`. */
  serve(source: string): ProcessRun
}

/** Programs of the conformance suite for machines that have Node and a shell. */
export function harnessPrograms({
  run,
  script,
  shell,
  serve,
}: Runners): Pick<Harness, 'programs' | 'commands' | 'addFile' | 'holdPort'> {
  return {
    programs: {
      serve: () => serve("require('http').createServer((_, answer) => answer.end('ok'))"),
      exit: (code, lines) =>
        run([
          '/bin/sh',
          '-c',
          'code=$1; shift; for line; do printf "%s\\n" "$line"; done; exit "$code"',
          'exit',
          String(code),
          ...lines,
        ]),
      hang: () => shell('sleep 600 & sleep 600'),
      print: (variable) => script(`console.log(JSON.stringify(process.env.${variable})); setInterval(() => {}, 1000)`),
      neverListen: () => shell('sleep 600'),
      missing: () => run(['/nowhere/bin/program']),
    },
    commands: {
      count: (lines) =>
        script(
          `let text = ''; for (let n = 0; n < ${lines}; n++) text += 'line ' + n + '\\n'; process.stdout.write(text)`,
        ),
      both: () => shell('echo out; sleep 0.2; echo err >&2'),
      signal: (name) => script(`process.kill(process.pid, '${name}'); setInterval(() => {}, 1000)`),
      stubborn: () => shell("trap '' TERM HUP; sleep 600 & sleep 600 & echo ready; while :; do sleep 600; done"),
      copy: () => run(['/bin/cat']),
      bytes: (count) =>
        script(`process.stdout.write(Buffer.alloc(${count}, Buffer.from(Array.from({ length: 256 }, (_, at) => at))))`),
      terminal: () =>
        script(`const tell = () => console.log(process.stdout.isTTY ? 'terminal ' + process.stdout.columns + 'x' + process.stdout.rows : 'no terminal');
          tell(); process.stdout.on('resize', tell); process.stdin.resume(); setInterval(() => {}, 1000)`),
    },
    addFile: (path) => writeFile(path, '{}'),
    async holdPort(port) {
      const source = `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('ready'))`
      const owner = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(owner.stdout, 'data')
      return {
        pid: owner.pid ?? 0,
        program: 'node',
        async release() {
          const gone = once(owner, 'exit')
          owner.kill('SIGKILL')
          await gone
        },
      }
    },
  }
}
