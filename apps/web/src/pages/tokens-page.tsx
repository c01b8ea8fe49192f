import type { TokenView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { CircleHelp, KeyRound, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { projectsQuery, tokensQuery } from '../api/queries.ts'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Dialog } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { useNow } from '../components/use-now.ts'
import { TokenPowers } from '../modules/token-powers-view.tsx'
import { texts } from '../texts/index.ts'
import { CreateToken } from './tokens/create-token.tsx'
import { CreatedToken, type TokenCreated } from './tokens/created-token.tsx'
import { McpSnippets } from './tokens/mcp-snippets.tsx'
import { useTitle } from './use-title.ts'

const t = texts.tokens

export function TokensPage() {
  useTitle(t.title)
  const query = useQuery(tokensQuery)
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<TokenCreated | null>(null)
  const [revoking, setRevoking] = useState<TokenView | null>(null)
  const [explained, setExplained] = useState<TokenView | null>(null)
  const nameOf = useProjectNames()
  const tokens = query.data ?? []
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          <Button icon={Plus} look="primary" onClick={() => setCreating(true)}>
            {t.create}
          </Button>
        }
      />
      <Panel flush>
        <Loaded query={query} rows={3} height="h-9">
          {() =>
            tokens.length === 0 ? (
              <EmptyState icon={KeyRound} title={t.emptyTitle} detail={t.emptyDetail} />
            ) : (
              <TokenTable tokens={tokens} onRevoke={setRevoking} onExplain={setExplained} />
            )
          }
        </Loaded>
      </Panel>
      <Panel title={t.mcp.title} detail={t.mcp.detail}>
        <McpSnippets />
      </Panel>
      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle} wide>
        <CreateToken
          onClose={() => setCreating(false)}
          onCreated={(token) => {
            setCreating(false)
            setCreated(token)
            void query.refetch()
          }}
        />
      </Dialog>
      <Dialog
        open={created !== null}
        onClose={() => setCreated(null)}
        title={t.createdTitle}
        detail={t.createdDetail}
        wide
      >
        {created !== null && <CreatedToken token={created} onClose={() => setCreated(null)} />}
      </Dialog>
      <Dialog open={explained !== null} onClose={() => setExplained(null)} title={t.whatItMay(explained?.name ?? '')}>
        {explained !== null && (
          <TokenPowers
            scope={explained.scope}
            projects={explained.projects.length === 0 ? null : explained.projects.map(nameOf)}
          />
        )}
      </Dialog>
      <ConfirmDialog
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        title={t.revokeTitle(revoking?.name ?? '')}
        detail={t.revokeDetail}
        submit={t.revoke}
        onConfirm={async () => {
          if (revoking === null) return
          await client.call('revokeToken', { params: { tid: revoking.id } })
          await query.refetch()
          toastDone(t.revoked(revoking.name))
        }}
      />
    </div>
  )
}

interface TokenTableProps {
  tokens: readonly TokenView[]
  onRevoke: (token: TokenView) => void
  onExplain: (token: TokenView) => void
}

function TokenTable({ tokens, onRevoke, onExplain }: TokenTableProps) {
  return (
    <Table
      label={t.title}
      head={[
        { title: t.columns.name },
        { title: t.columns.scope },
        { title: t.columns.projects },
        { title: t.columns.lastUsed },
        { title: t.columns.expires },
        { title: t.columns.created },
        { title: t.columns.actions, hidden: true },
      ]}
    >
      {tokens.map((token) => (
        <TokenRow key={token.id} token={token} onRevoke={() => onRevoke(token)} onExplain={() => onExplain(token)} />
      ))}
    </Table>
  )
}

function TokenRow({ token, onRevoke, onExplain }: { token: TokenView; onRevoke: () => void; onExplain: () => void }) {
  const nameOf = useProjectNames()
  const now = useNow()
  const expired = token.expiresAt !== null && Date.parse(token.expiresAt) <= now
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="min-w-40">
        <span className="block font-medium">{token.name}</span>
        <code className="block text-ink-3">{token.prefix}…</code>
      </Cell>
      <Cell>
        <button
          type="button"
          onClick={onExplain}
          className="inline-flex min-h-6 items-center gap-1 rounded hover:underline"
        >
          {t.scopes[token.scope].label}
          <span className="sr-only">: {t.whatItMay(token.name)}</span>
          <CircleHelp aria-hidden className="size-3.5 text-ink-3" />
        </button>
      </Cell>
      <Cell className="max-w-64">
        {token.projects.length === 0 ? t.allProjects : token.projects.map(nameOf).join(', ')}
      </Cell>
      <Cell className="text-ink-2">
        {token.lastUsedAt === null ? texts.common.never : <TimeAgo time={token.lastUsedAt} />}
      </Cell>
      <Cell className={cx(expired ? 'text-bad' : 'text-ink-2')}>
        {token.expiresAt === null ? texts.common.never : expired ? t.expired : <TimeAgo time={token.expiresAt} />}
      </Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={token.createdAt} />
      </Cell>
      <ActionsCell>
        <IconButton icon={Trash2} label={t.revokeOne(token.name)} onClick={onRevoke} />
      </ActionsCell>
    </tr>
  )
}

function useProjectNames(): (ref: string) => string {
  const projects = useQuery(projectsQuery).data ?? []
  return (ref) => projects.find((project) => project.id === ref || project.slug === ref)?.name ?? ref
}
