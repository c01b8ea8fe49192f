import { useState } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import { SelectField } from '../../components/field.tsx'
import { type McpClient, mcpClients, mcpSnippet } from '../../lib/mcp-snippets.ts'
import { texts } from '../../texts/index.ts'

const t = texts.tokens.mcp

/** How a program that speaks MCP is told of this service. Without a token there stands what is to be put in its place. */
export function McpSnippets({ token = t.placeholder }: { token?: string }) {
  const [client, setClient] = useState<McpClient>('claudeCode')
  const { file, code } = mcpSnippet(client, { origin: window.location.origin, token })
  const place = file !== null ? t.inFile(file) : client === 'other' ? t.overHttp : t.inTerminal
  return (
    <div className="flex flex-col gap-3">
      <SelectField
        label={t.client}
        className="max-w-72"
        value={client}
        onChange={(event) => setClient(event.target.value as McpClient)}
      >
        {mcpClients.map((option) => (
          <option key={option} value={option}>
            {t.clients[option]}
          </option>
        ))}
      </SelectField>
      <div>
        <p className="mb-1 text-sm text-ink-2">{place}</p>
        <CodeBlock code={code} label={t.clients[client]} wrap />
      </div>
    </div>
  )
}
