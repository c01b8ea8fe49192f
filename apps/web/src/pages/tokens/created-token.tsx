import type { CallResult } from '@stackquay/contract'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { texts } from '../../texts/index.ts'
import { McpSnippets } from './mcp-snippets.tsx'

const t = texts.tokens

export type TokenCreated = CallResult<'createToken'>

export function CreatedToken({ token, onClose }: { token: TokenCreated; onClose: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="mb-1 text-sm font-medium">{t.value}</p>
        <CodeBlock code={token.value} label={t.value} wrap />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.tryIt}</p>
        <CodeBlock
          code={`curl -H "Authorization: Bearer ${token.value}" ${window.location.origin}/api/v1/projects`}
          label={t.tryIt}
          wrap
        />
      </div>
      <Disclosure title={t.mcp.title}>
        <McpSnippets token={token.value} />
      </Disclosure>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {t.done}
        </Button>
      </DialogActions>
    </div>
  )
}
