import type { GitState, ProjectView } from '@stackquay/contract'
import { useState } from 'react'
import { makeDeployKey, putRemote } from '../../api/git.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.git

/** Where it fetches from and pushes to, and what opens that. */
export function RemotePanel({ project, state }: { project: ProjectView; state: GitState }) {
  return (
    <Panel title={t.remote} detail={t.remoteDetail}>
      <div className="grid gap-6 lg:grid-cols-2">
        <RemoteForm key={state.url} project={project.id} state={state} />
        <DeployKey project={project.id} state={state} />
      </div>
    </Panel>
  )
}

function RemoteForm({ project, state }: { project: string; state: GitState }) {
  const [url, setUrl] = useState(state.url ?? state.origin ?? '')
  const [username, setUsername] = useState(state.credentials?.username ?? '')
  const [token, setToken] = useState('')
  const { busy, error, run } = useSubmit()
  const submit = () =>
    run(async () => {
      await putRemote(project, {
        url: url.trim(),
        ...(username.trim() === '' ? {} : { username: username.trim() }),
        ...(token === '' ? {} : { token }),
      })
      setToken('')
      toastDone(t.remoteSaved)
    })
  return (
    <Form onSubmit={submit}>
      <TextField label={t.url} value={url} onChange={(event) => setUrl(event.target.value)} mono spellCheck={false} />
      <TextField label={t.username} optional value={username} onChange={(event) => setUsername(event.target.value)} />
      <TextField
        label={t.token}
        type="password"
        optional
        help={state.credentials?.hasToken === true ? t.tokenKept : t.tokenHelp}
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <div>
        <Button type="submit" busy={busy} disabled={url.trim() === ''}>
          {t.saveRemote}
        </Button>
      </div>
    </Form>
  )
}

function DeployKey({ project, state: { deployKey, hostKeys } }: { project: string; state: GitState }) {
  const [replacing, setReplacing] = useState(false)
  const { busy, error, run } = useSubmit()
  const make = () => run(() => makeDeployKey(project))
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <h3 className="font-medium">{t.deployKey}</h3>
      <p className="text-sm text-ink-2">{t.deployKeyDetail}</p>
      {deployKey !== null && (
        <>
          <CodeBlock code={deployKey.publicKey} label={t.deployKey} wrap />
          <p className="font-mono text-sm break-all text-ink-2">{deployKey.fingerprint}</p>
        </>
      )}
      {error !== null && <ErrorNote error={error} />}
      <div>
        <Button busy={busy} onClick={() => (deployKey === null ? void make() : setReplacing(true))}>
          {deployKey === null ? t.makeKey : t.replaceKey}
        </Button>
      </div>
      {hostKeys.length > 0 && (
        <>
          <h3 className="font-medium">{t.hostKeys}</h3>
          <ul className="font-mono text-sm break-all">
            {hostKeys.map(({ type, fingerprint }) => (
              <li key={fingerprint}>
                {type} {fingerprint}
              </li>
            ))}
          </ul>
        </>
      )}
      <ConfirmDialog
        open={replacing}
        onClose={() => setReplacing(false)}
        title={t.replaceTitle}
        detail={t.replaceDetail}
        submit={t.replaceKey}
        onConfirm={() => makeDeployKey(project)}
      />
    </div>
  )
}
