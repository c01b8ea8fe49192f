/** Programs that speak the Model Context Protocol, by how they are told of a server. */
export const mcpClients = ['claudeCode', 'vsCode', 'cursor', 'codex', 'desktop', 'other'] as const
export type McpClient = (typeof mcpClients)[number]

interface Service {
  /** Where the page came from. */
  readonly origin: string
  readonly token: string
}

/** Where it goes (null: it is a command), and what. */
export function mcpSnippet(client: McpClient, { origin, token }: Service): { file: string | null; code: string } {
  const url = `${origin}/mcp`
  const headers = { Authorization: `Bearer ${token}` }
  const started = { command: 'stq', args: ['mcp'], env: { STACKQUAY_URL: origin, STACKQUAY_TOKEN: token } }
  switch (client) {
    case 'claudeCode':
      return {
        file: null,
        code: `claude mcp add --transport http stackquay ${url} --header "Authorization: Bearer ${token}"`,
      }
    case 'vsCode':
      return { file: '.vscode/mcp.json', code: json({ servers: { stackquay: { type: 'http', url, headers } } }) }
    case 'cursor':
      return { file: '~/.cursor/mcp.json', code: json({ mcpServers: { stackquay: { url, headers } } }) }
    case 'codex':
      return {
        file: '~/.codex/config.toml',
        code: [
          '[mcp_servers.stackquay]',
          'command = "stq"',
          'args = ["mcp"]',
          `env = { STACKQUAY_URL = ${JSON.stringify(origin)}, STACKQUAY_TOKEN = ${JSON.stringify(token)} }`,
        ].join('\n'),
      }
    case 'desktop':
      return { file: 'claude_desktop_config.json', code: json({ mcpServers: { stackquay: started } }) }
    case 'other':
      return { file: null, code: `${url}\nAuthorization: Bearer ${token}` }
    default:
      return client satisfies never
  }
}

function json(value: object): string {
  return JSON.stringify(value, null, 2)
}
