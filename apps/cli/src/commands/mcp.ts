import type { Context } from '../context.ts'
import type { Define } from '../define.ts'

export const define: Define = (command, context) =>
  command
    .addHelpText(
      'after',
      `
A client starts it and speaks the Model Context Protocol with it over standard input and output. It hands every message on to
/mcp of the service at STACKQUAY_URL, with the token in STACKQUAY_TOKEN (or those of stq login), and says what is wrong on
standard error. Clients that speak HTTP need no stq: their address is /mcp of the service. See docs/mcp.md.`,
    )
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const connection = await context.connection()
  const [{ bridge }, { version }] = await Promise.all([import('../mcp/bridge.ts'), import('../version.ts')])
  const { stdin, stdout, stderr } = context.world
  await bridge({
    url: `${connection.baseUrl}/mcp`,
    token: connection.token!,
    userAgent: `stq-mcp/${version} node/${process.versions.node}`,
    lines: linesOf(stdin),
    signal: context.signal,
    say: (message) => void stdout.write(`${JSON.stringify(message)}\n`),
    note: (text) => void stderr.write(`stq mcp: ${text}\n`),
  })
}

async function* linesOf(stdin: NodeJS.ReadStream): AsyncGenerator<string> {
  const { createInterface } = await import('node:readline')
  for await (const line of createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })) yield line
}
