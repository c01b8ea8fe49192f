import { spawn } from 'node:child_process'

export interface Result {
  /** 128 + n when signal n ended it. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, whatever that is. */
export function runProgram(program: string, args: readonly string[], input = ''): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? 128, stdout, stderr }))
    // It may end without having read everything.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

/** Like `runProgram`, but anything other than success is an error with what the program said. Answers its output. */
export async function mustRun(program: string, args: readonly string[], input = ''): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args, input)
  if (code === 0) return stdout
  throw new Error(`"${program} ${args.join(' ')}" ended with ${code}:\n${`${stderr}\n${stdout}`.trim().slice(-4000)}`)
}
